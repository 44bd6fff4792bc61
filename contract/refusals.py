"""Why a job is not accepted, as the script that would accept it answers."""

from typing import Any

from contract.errors import EvaluationError, QueueFull, QuotaExceeded
from contract.repeats import conflict
from contract.windows import outside

ROOM = """
-- Why one more job of an owner may not wait; nil where it may.
local function no_room(owner)
  local waiting = 0
  for _, device in ipairs(redis.call('SMEMBERS', key('devices'))) do
    waiting = waiting + redis.call('ZCARD', key('queue', device))
  end
  if waiting >= given.max_queued then return {'full', waiting, given.max_queued} end
  local theirs, most = tonumber(redis.call('HGET', key('waiting'), owner) or 0), given.max_waiting
  if most and theirs >= most then return {'waiting', theirs, most} end
end
"""
"""Follows the prelude in a script."""


def refusal_from(reply: list[Any], problem: str) -> EvaluationError:
    """Return what to raise for a reply that is no job."""
    match reply:
        case [b"full", waiting, most]:
            return QueueFull(waiting, most)
        case [b"waiting", waiting, most]:
            return QuotaExceeded("jobs_waiting", most, waiting)
        case [b"outside", now_ms, windows]:
            return outside(problem, now_ms, windows)
        case _:
            return conflict()
