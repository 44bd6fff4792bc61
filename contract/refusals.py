"""Why a submission is not accepted, as the script that would accept it answers."""

from typing import Any

from contract.errors import EvaluationError, QueueFull, QuotaExceeded
from contract.repeats import conflict
from contract.windows import outside


def refusal_from(
    reply: list[Any], problem: str, max_queued: int, max_waiting: int | None
) -> EvaluationError:
    """Return what to raise for a reply of SUBMIT that is no job."""
    match reply:
        case [b"full", waiting]:
            return QueueFull(waiting, max_queued)
        case [b"waiting", waiting]:
            return QuotaExceeded("jobs_waiting", max_waiting or 0, waiting)
        case [b"outside", now_ms, windows]:
            return outside(problem, now_ms, windows)
        case _:
            return conflict()
