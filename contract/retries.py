"""A job that failed by a fault of ours is put back as it was sent, when its owner asks for it.

It stays the same job, with its number, its files and the time at which it was sent, by which a
leaderboard counts it: a deadline that passed meanwhile is no matter. It has as many attempts again
as a new one, and waits like a new one: in its place, and within its limits.
"""

from contract.errors import JobNotFound, NothingToRetry
from contract.job import Job
from contract.order import CLASS_OFFSETS, SCORE
from contract.prelude import PRELUDE
from contract.queue import JobQueue
from contract.refusals import ROOM, refusal_from

_RETRY = (
    PRELUDE
    + ROOM
    + SCORE
    + """
local at = job(given.id, 'state', 'owner', 'attempts', 'device', 'mode')
-- A command repeated after a lost connection finds the job that it put back.
if at[1] == 'queued' or at[1] == 'running' then return {'retried'} end
if at[1] ~= 'failed' then return at end
local refused = no_room(at[2])
if refused then return refused end
for _, kind in ipairs(KINDS) do redis.call('PERSIST', key(kind, given.id)) end
redis.call('DEL', key('events', given.id), key('delivery', given.id))
redis.call('ZREM', key('ended'), given.id .. ':' .. at[2])
redis.call('ZREM', key('callbacks'), given.id)
redis.call('HDEL', key('job', given.id), 'error', 'finished_at')
redis.call('HSET', key('job', given.id), 'attempts_before', at[3],
  'score', next_score(at[4], given.offsets[at[5]], at[2]))
requeue(given.id)
return {'retried'}
"""
)


async def retry(queue: JobQueue, job_id: str, max_waiting: int | None = None) -> Job:
    """Put a failed job back where a new one would be; one that waits or runs stays as it is.

    Raises:
        NothingToRetry: it has a verdict, or was cancelled.
        QueueFull: as many jobs wait as may.
        QuotaExceeded: `max_waiting` jobs of its owner wait.
        JobNotFound: there is none.
        QueueUnavailable: Redis does not answer.

    """
    offsets = dict(CLASS_OFFSETS)
    reply = await queue.store.run(_RETRY, id=job_id, max_waiting=max_waiting, offsets=offsets)
    match reply:
        case [b"retried"]:
            return await queue.get(job_id)
        case [None, *_]:
            raise JobNotFound(job_id)
        case [b"finished" | b"cancelled" as state, *_]:
            raise NothingToRetry(
                f"the job is {state.decode()}: only one that failed is tried again"
            )
        case refused:
            raise refusal_from(refused, "")
