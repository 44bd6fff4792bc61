"""A job that failed by a fault of ours is put back as it was sent, when its owner asks for it.

It stays the same job, with its number, its files and the time at which it was sent, by which a
leaderboard counts it: a deadline that passed meanwhile is no matter. It has as many attempts again
as a new one.
"""

from contract.errors import JobNotFound, NothingToRetry
from contract.job import Job
from contract.prelude import PRELUDE
from contract.queue import JobQueue

_RETRY = (
    PRELUDE
    + """
local at = job(given.id, 'state', 'owner', 'attempts')
-- A command repeated after a lost connection finds the job that it put back.
if at[1] == 'queued' or at[1] == 'running' then return 'retried' end
if at[1] ~= 'failed' then return at[1] end
for _, kind in ipairs(KINDS) do redis.call('PERSIST', key(kind, given.id)) end
redis.call('DEL', key('events', given.id), key('delivery', given.id))
redis.call('ZREM', key('ended'), given.id .. ':' .. at[2])
redis.call('ZREM', key('callbacks'), given.id)
redis.call('HDEL', key('job', given.id), 'error', 'finished_at')
redis.call('HSET', key('job', given.id), 'attempts_before', at[3])
requeue(given.id)
return 'retried'
"""
)


async def retry(queue: JobQueue, job_id: str) -> Job:
    """Put a failed job back in its old place; one that waits or runs stays as it is.

    Raises:
        NothingToRetry: it has a verdict, or was cancelled.
        JobNotFound: there is none.
        QueueUnavailable: Redis does not answer.

    """
    reply = await queue.store.run(_RETRY, id=job_id)
    if reply is None:
        raise JobNotFound(job_id)
    if reply != b"retried":
        raise NothingToRetry(f"the job is {reply.decode()}: only one that failed is tried again")
    return await queue.get(job_id)
