"""Jobs by number and by a client's own words, and forgetting a job before its time."""

from contract.errors import JobNotFound
from contract.prelude import PRELUDE
from contract.store import Store

_NUMBERED = (
    PRELUDE
    + """
return redis.call('ZRANGEBYSCORE', key('jobs'), given.number, given.number, 'LIMIT', 0, 1)[1]
"""
)
_FORGET = (
    PRELUDE
    + """
local at = job(given.id, 'state', 'owner')
if at[1] == 'queued' then dequeue(given.id) end
if at[1] == 'queued' or at[1] == 'running' then close(given.id, 'cancelled') end
-- Whoever runs it or waits for it looks again, and finds nothing.
ring('lease', given.id)
for _, kind in ipairs({'job', 'spec', 'source', 'other', 'verdict', 'shown', 'artifacts', 'events',
    'delivery'}) do
  redis.call('DEL', key(kind, given.id))
end
redis.call('ZREM', key('callbacks'), given.id)
redis.call('ZREM', key('jobs'), given.id)
if at[2] then
  redis.call('ZREM', key('jobs', at[2]), given.id)
  redis.call('ZREM', key('ended'), given.id .. ':' .. at[2])
end
"""
)
_CALL = (
    PRELUDE
    + """
if redis.call('EXISTS', key('job', given.id)) == 1 then
  redis.call('HSET', key('job', given.id), 'called', given.word)
end
"""
)
_CALLED = PRELUDE + "return job(given.id, 'called')[1]"
LARGEST = 10**15
"""Numbers beyond it are no jobs, and would lose digits on their way to a script."""


class Archive:
    """The jobs of one queue. Raises `QueueUnavailable` while Redis does not answer."""

    def __init__(self, store: Store) -> None:
        """Look where the queue is."""
        self._store = store

    async def numbered(self, number: int) -> str:
        """Return the id of a job.

        Raises:
            JobNotFound: no job has this number, or it is past its retention.

        """
        known = 0 < number < LARGEST
        found = await self._store.run(_NUMBERED, number=number) if known else None
        if found is None:
            raise JobNotFound(str(number))
        job_id: bytes = found
        return job_id.decode()

    async def call(self, job_id: str, word: str) -> None:
        """Remember what a client called the device of a job, which has another name here."""
        await self._store.run(_CALL, id=job_id, word=word)

    async def called(self, job_id: str) -> str | None:
        """Return what the client called the device of a job; None where it has that name here."""
        word: bytes | None = await self._store.run(_CALLED, id=job_id)
        return None if word is None else word.decode()

    async def forget(self, job_id: str) -> None:
        """Forget a job with its source, verdict and callback; one that has not ended is cancelled.

        What a leaderboard has of it stays: see `Results.delete`.
        """
        await self._store.run(_FORGET, id=job_id)
