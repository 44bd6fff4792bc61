"""What one owner may use: jobs that wait, jobs a minute, seconds on GPUs and megabytes an hour.

Waiting jobs are counted where they are queued, so that quota is kept to the job. The rate is a
moving window of the library `limits`. Seconds on GPUs are charged at the end of a job, by the
transition that ends it, and bytes by those that store them: whoever stays under the limit may start
as much as may wait, so it can be overrun once, and is then waited for.
"""

import time

from limits import RateLimitItemPerMinute
from limits.aio.storage import RedisStorage
from limits.aio.strategies import MovingWindowRateLimiter
from pydantic import BaseModel, ConfigDict, PositiveInt

from contract.errors import QuotaExceeded
from contract.prelude import PRELUDE
from contract.store import Store

MS_PER_S = 1000
BYTES_PER_MB = 10**6
_USED = (
    PRELUDE
    + """
-- What was used of something in the last hour, and the ms until that is less than a limit.
local function used_of(kind, limit)
  local minutes, used, rows = {}, 0, redis.call('HGETALL', key(kind, given.owner))
  for row = 1, #rows, 2 do
    local free_ms = (rows[row] + 60) * MINUTE_MS - now
    if free_ms > 0 then
      minutes[#minutes + 1] = {free_ms = free_ms, used = tonumber(rows[row + 1])}
      used = used + rows[row + 1]
    end
  end
  -- The oldest minutes are the first to be free again.
  table.sort(minutes, function(one, other) return one.free_ms < other.free_ms end)
  local wait_ms, left = 0, used
  for _, minute in ipairs(minutes) do
    if left < limit then break end
    wait_ms, left = minute.free_ms, left - minute.used
  end
  return {used, wait_ms}
end
return {tonumber(redis.call('HGET', key('waiting'), given.owner) or 0),
  used_of('spent', given.gpu_ms), used_of('kept', given.kept_bytes)}
"""
)


class Quota(BaseModel):
    """What one owner may use; admins may use anything."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    jobs_waiting: PositiveInt = 500
    """Jobs that may wait at a time."""
    jobs_a_minute: PositiveInt = 300
    """Jobs that may be sent in any 60 seconds."""
    gpu_seconds_an_hour: PositiveInt = 3600
    """Seconds on GPUs in the last hour; jobs that failed through a fault of ours cost nothing."""
    megabytes_an_hour: PositiveInt = 500
    """10^6 bytes of files, verdicts and artifacts that were stored in the last hour."""


class Quotas:
    """Holds owners to a quota. Raises `QueueUnavailable` while Redis does not answer."""

    def __init__(self, store: Store, quota: Quota) -> None:
        """Count where the queue is."""
        self.quota = quota
        self._store = store
        self._rate = RateLimitItemPerMinute(quota.jobs_a_minute)
        self._window = MovingWindowRateLimiter(
            RedisStorage(
                "async+redis://",
                implementation="redispy",
                key_prefix=f"{store.prefix}:rate",
                connection_pool=store.pool,  # type: ignore[arg-type]  # annotated for scalars only
            )
        )

    async def take(self, owner: str) -> None:
        """Count one more job of an owner.

        Raises:
            QuotaExceeded: naming the quota, and when to come back.

        """
        quota = self.quota
        waiting, spent, kept = await self._store.run(
            _USED,
            owner=owner,
            gpu_ms=MS_PER_S * quota.gpu_seconds_an_hour,
            kept_bytes=BYTES_PER_MB * quota.megabytes_an_hour,
        )
        if waiting >= quota.jobs_waiting:
            raise QuotaExceeded("jobs_waiting", quota.jobs_waiting, waiting)
        for name, limit, unit, (amount, wait_ms) in (
            ("gpu_seconds_an_hour", quota.gpu_seconds_an_hour, MS_PER_S, spent),
            ("megabytes_an_hour", quota.megabytes_an_hour, BYTES_PER_MB, kept),
        ):
            if amount >= unit * limit:
                raise QuotaExceeded(name, limit, amount // unit, wait_ms / 1000)
        if not await self._store.answer(self._window.hit(self._rate, owner)):
            stats = await self._store.answer(self._window.get_window_stats(self._rate, owner))
            raise QuotaExceeded(
                "jobs_a_minute",
                quota.jobs_a_minute,
                quota.jobs_a_minute - stats.remaining,
                max(0.0, stats.reset_time - time.time()),
            )
