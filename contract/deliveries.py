"""Callbacks that have to be delivered, once at least, by whichever API process comes first.

The transition that ends a job puts it here if it has a callback; entries of the feed of ranked
verdicts come here where there is a webhook for them (ranked_feed.py). Either kind waits in a line
of its own: a window that is changed makes thousands of entries at once. Taking a delivery hides it
for a hold; a process that dies with it lets the hold run out, and another one tries. What is due of
an owner who has enough under way is put off, or one receiver that never answers would be waited for
by everybody. The receiver tells repetitions by the id: the job's, or `ranked-` and the entry's
number. A job that is retried ends once more, under an id of its own.

    callbacks posts       zsets: ids of jobs, and of entries, by due time
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from contract.prelude import PRELUDE
from contract.records import fields_from, time_from
from contract.store import Store

Line = Literal["callbacks", "posts"]
LINES: Final[tuple[Line, ...]] = ("callbacks", "posts")
_LINE = """
local function is_entry(id) return string.sub(id, 1, 7) == 'ranked-' end
local function line_of(id) return key(is_entry(id) and 'posts' or 'callbacks') end
"""
_DUE = (
    PRELUDE
    + _LINE
    + """
local due, under_way = {}, given.under_way

local function meant(id)
  if is_entry(id) then return redis.call('HGET', key('webhook'), 'url'), '', id end
  local url, owner, before = unpack(job(id, 'callback_url', 'owner', 'attempts_before'))
  return url, owner, before and id .. '-' .. before or id
end

local function take(id, url, owner, message_id)
  local attempt = redis.call('HINCRBY', key('delivery', id), 'attempts', 1)
  redis.call('PEXPIRE', key('delivery', id), given.retention_ms)
  if attempt > given.max_attempts then return redis.call('ZREM', key(given.line), id) end
  redis.call('ZADD', key(given.line), now + given.hold_ms, id)
  under_way[owner] = (under_way[owner] or 0) + 1
  due[#due + 1] = {id, url, attempt, message_id, owner}
end

for _, id in ipairs(redis.call('ZRANGEBYSCORE', key(given.line), '-inf', now,
    'LIMIT', 0, given.looked_at)) do
  if #due == given.limit then break end
  local url, owner, message_id = meant(id)
  if not url then
    redis.call('ZREM', key(given.line), id)
  elseif owner ~= '' and (under_way[owner] or 0) >= given.most_of_one then
    redis.call('ZADD', key(given.line), now + given.put_off_ms, id)
  else
    take(id, url, owner, message_id)
  end
end
return due
"""
)
_NOTE = (
    PRELUDE
    + _LINE
    + """
-- Of an end that was taken back, or of a job that was forgotten meanwhile.
local attempts = tonumber(redis.call('HGET', key('delivery', given.id), 'attempts') or 0)
if attempts < given.attempt then return end
if redis.call('HSETNX', key('delivery', given.id), given.attempt, ARGV[2]) == 1 then
  count('callback:' .. given.result)
end
redis.call('PEXPIRE', key('delivery', given.id), given.retention_ms)
if given.again_ms then
  redis.call('ZADD', line_of(given.id), 'XX', now + given.again_ms, given.id)
else
  redis.call('ZREM', line_of(given.id), given.id)
end
"""
)
_LOG = (
    PRELUDE
    + """
return {redis.call('HGETALL', key('delivery', given.id)),
  redis.call('ZSCORE', key('callbacks'), given.id)}
"""
)

MOST_OF_ONE: Final = 4
"""Under way at a time for one owner, in one process."""
LOOKED_AT: Final = 1000
PUT_OFF_MS: Final = 400
"""So that others come first, and it is due when a process looks next."""
NOBODY: Final[Mapping[str, int]] = MappingProxyType({})


class Due(NamedTuple):
    """One delivery that was taken: of what, where to, and which attempt this is, from 1."""

    id: str
    url: str
    attempt: int
    message_id: str
    """The same for each attempt at one end of a job."""
    owner: str
    """Of the job; empty where it is an entry of the feed."""

    @property
    def entry(self) -> int | None:
        """Number of the entry of the feed that is delivered; None where it is a job."""
        kind, _, number = self.id.rpartition("-")
        return int(number) if kind == "ranked" else None


class Delivery(BaseModel):
    """One attempt at a delivery."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    attempt: int
    at: datetime
    duration_ms: float
    status: int | None = None
    """What the receiver answered; null where it did not."""
    error: str | None = None
    """Why it was not delivered; null where it was."""


class DeliveryLog(BaseModel):
    """All attempts at the callback of a job; none where it has no callback, or has not ended."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    deliveries: tuple[Delivery, ...] = ()
    next_at: datetime | None = None
    """When the next attempt may be made; null where there is none to come."""


class Deliveries:
    """The callbacks of one queue. Raises `QueueUnavailable` while Redis does not answer."""

    def __init__(self, store: Store) -> None:
        """Deliver for the queue of this store."""
        self._store = store

    async def take(
        self,
        line: Line,
        limit: int,
        hold_s: float,
        max_attempts: int,
        under_way: Mapping[str, int] = NOBODY,
    ) -> Sequence[Due]:
        """Take up to `limit` of a line that are due; nobody else gets them within the hold.

        `under_way` says how many of each owner the taker has already.
        """
        rows = await self._store.run(
            _DUE,
            line=line,
            limit=limit,
            looked_at=LOOKED_AT,
            hold_ms=round(1000 * hold_s),
            put_off_ms=PUT_OFF_MS,
            max_attempts=max_attempts,
            most_of_one=MOST_OF_ONE,
            under_way=dict(under_way),
        )
        return [
            Due(due_id.decode(), url.decode(), attempt, message_id.decode(), owner.decode())
            for due_id, url, attempt, message_id, owner in rows
        ]

    async def note(self, due_id: str, delivery: Delivery, again_s: float | None) -> None:
        """Write down how an attempt went, and when the next is due; None: it was the last."""
        result = "delivered" if delivery.error is None else "failed"
        if delivery.error is not None and again_s is None:
            result = "given_up"
        await self._store.run(
            _NOTE,
            delivery.model_dump_json(),
            id=due_id,
            attempt=delivery.attempt,
            result=result,
            again_ms=None if again_s is None else round(1000 * again_s),
        )

    async def log(self, job_id: str) -> DeliveryLog:
        """Return the attempts so far, the first one first."""
        flat, due_ms = await self._store.run(_LOG, id=job_id)
        fields = fields_from(flat)
        noted = (Delivery.model_validate_json(v) for k, v in fields.items() if k.isdigit())
        return DeliveryLog(
            deliveries=tuple(sorted(noted, key=lambda each: each.attempt)),
            next_at=None if due_ms is None else time_from(due_ms),
        )
