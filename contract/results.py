"""Results: what each owner was ranked with, and what is decided about it."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import BaseModel, ConfigDict

from contract.errors import InvalidSubmission
from contract.prelude import PRELUDE
from contract.ranking import RANKING
from contract.records import fields_from, time_from
from contract.store import Store

_HISTORY = (
    PRELUDE
    + """
local rows, results = redis.call('ZREVRANGEBYSCORE',
  key('history', given.problem, given.device, given.owner),
  given.before and '(' .. given.before or '+inf', '-inf', 'LIMIT', 0, given.limit + 1), {}
for row = 1, math.min(#rows, given.limit) do
  results[row] = redis.call('HGETALL', key('result', rows[row]))
end
return {results, #rows > given.limit}
"""
)
_DECIDE = (
    PRELUDE
    + RANKING
    + """
local at, disqualified, outside = kept(given.id)
if not at then return false end
local was = redis.call('HGETALL', key('result', given.id))
at.reason, at.by = given.reason, given.by
if given.decision == 'disqualified' and not disqualified then
  redis.call('HSET', key('result', given.id), 'disqualified_at', now, 'reason', given.reason,
    'disqualified_by', given.by)
  put(at)
elseif given.decision == 'reinstated' and disqualified then
  redis.call('HDEL', key('result', given.id), 'disqualified_at', 'reason', 'disqualified_by')
  put(at, outside and OUTSIDE or COUNTING)
  at.why_not = outside or nil
elseif given.decision == 'deleted' and not (given.withdrawn and disqualified) then
  forget(at)
else
  return was
end
announce(given.decision, at)
return given.decision == 'deleted' and was or redis.call('HGETALL', key('result', given.id))
"""
)

_NUMBER = re.compile("[0-9]{1,15}")
NOT_OURS = "must be the next_cursor of an earlier page"


class Disqualification(BaseModel):
    """Why a result does not count any more."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    at: datetime
    reason: str
    by: str
    """Name of the admin."""


class Result(BaseModel):
    """One ranked job that passed."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    job: str
    """Its id. The job itself goes after its retention, the result stays."""
    job_number: int
    """Jobs are numbered as they are sent: of equal scores the lowest stands first."""
    owner: str
    problem: str
    device: str
    """What it ran on."""
    geomean_us: float
    """The score, in all its digits; lower is better."""
    created_at: datetime
    """When the job was sent."""
    finished_at: datetime


class HistoryResult(Result):
    """One of an owner's results."""

    counts: bool
    """False where it is disqualified, or was sent outside of the window as it is now."""
    disqualified: Disqualification | None = None
    """Null where nobody did that."""


class Results:
    """The results of one queue. Raises `QueueUnavailable` while Redis does not answer."""

    def __init__(self, store: Store) -> None:
        """Read and decide what finished jobs have entered."""
        self._store = store

    async def history(
        self, problem: str, device: str, owner: str, limit: int, cursor: str | None = None
    ) -> tuple[Sequence[HistoryResult], str | None]:
        """Return the results of an owner, the newest first, and the cursor of the next ones.

        Raises:
            InvalidSubmission: `cursor` is none of ours.

        """
        if cursor is not None and not _NUMBER.fullmatch(cursor):
            raise InvalidSubmission("cursor", NOT_OURS)
        arguments = {"problem": problem, "device": device, "owner": owner, "limit": limit}
        rows, more = await self._store.run(_HISTORY, **arguments, before=cursor)
        results = [fields_from(row) for row in rows]
        return [_kept(each) for each in results], results[-1]["number"] if more else None

    async def disqualify(self, job_id: str, reason: str, by: str) -> HistoryResult | None:
        """Take a result out of the count; the owner's next best stands in its place.

        None where there is no such result; one that is disqualified stays as it is.
        """
        return await self._decide("disqualified", job_id, reason, by)

    async def reinstate(self, job_id: str, reason: str, by: str) -> HistoryResult | None:
        """Let a disqualified result count again; None where there is no such result."""
        return await self._decide("reinstated", job_id, reason, by)

    async def delete(self, job_id: str, reason: str, by: str) -> HistoryResult | None:
        """Forget a result, for good, and return what it was; None where there is no such result."""
        return await self._decide("deleted", job_id, reason, by)

    async def withdraw(self, job_id: str, reason: str, by: str) -> HistoryResult | None:
        """Forget a result as its owner may: a disqualified one stays, with the reason."""
        return await self._decide("deleted", job_id, reason, by, withdrawn=True)

    async def _decide(
        self, decision: str, job_id: str, reason: str, by: str, *, withdrawn: bool = False
    ) -> HistoryResult | None:
        arguments = {"decision": decision, "id": job_id, "reason": reason, "by": by}
        flat = await self._store.run(_DECIDE, **arguments, withdrawn=withdrawn)
        return _kept(fields_from(flat)) if flat else None


def result_in(flat: Sequence[bytes]) -> dict[str, object]:
    """Return the members of a `Result` that is kept as a hash."""
    return _result(fields_from(flat))


def _result(fields: Mapping[str, str]) -> dict[str, object]:
    return {name: fields[name] for name in ("job", "owner", "problem", "device")} | {
        "job_number": int(fields["number"]),
        "geomean_us": float(fields["geomean_us"]),
        "created_at": time_from(fields["created_at"]),
        "finished_at": time_from(fields["finished_at"]),
    }


def _kept(fields: Mapping[str, str]) -> HistoryResult:
    at = fields.get("disqualified_at")
    disqualified = None
    if at is not None:
        disqualified = Disqualification(
            at=time_from(at), reason=fields["reason"], by=fields["disqualified_by"]
        )
    counts = disqualified is None and "why_not" not in fields
    return HistoryResult.model_validate(
        _result(fields) | {"counts": counts, "disqualified": disqualified}
    )
