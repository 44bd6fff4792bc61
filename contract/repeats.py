"""Requests that come again with their Idempotency-Key: the job they made, whatever changed since.

idempotency:OWNER:KEY       hash: job and digest of the request
"""

from contract.errors import IdempotencyConflict
from contract.job import Job
from contract.prelude import PRELUDE
from contract.records import job_from
from contract.store import Store

EARLIER = """
local function memory() return key('idempotency', given.owner, given.idempotency_key) end

-- The job that a request with this key made, or a conflict with it; nil where there is none.
local function earlier()
  if not given.idempotency_key then return nil end
  local at = redis.call('HMGET', memory(), 'id', 'digest')
  if not at[1] or redis.call('EXISTS', key('job', at[1])) == 0 then return nil end
  if at[2] ~= given.digest then return {'conflict'} end
  return {'accepted', record(at[1])}
end
"""
"""Follows the prelude in a script."""
_REPEATED = PRELUDE + EARLIER + "return earlier()"


async def repeated(store: Store, owner: str, idempotency_key: str, digest: str) -> Job | None:
    """Return the job that a request already made; None where none with its key has.

    Raises:
        IdempotencyConflict: the key was used with another digest.
        QueueUnavailable: Redis does not answer.

    """
    key = {"owner": owner, "idempotency_key": idempotency_key, "digest": digest}
    reply = await store.run(_REPEATED, **key)
    if reply is None:
        return None
    if reply[0] != b"accepted":
        raise conflict()
    return job_from(reply[1])


def conflict() -> IdempotencyConflict:
    """Return the refusal of a key that stands for another request."""
    return IdempotencyConflict("the Idempotency-Key was used with another body")
