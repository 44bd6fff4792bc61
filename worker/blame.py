"""How a runner's end becomes an outcome: what the candidate is blamed for, and in which words."""

import signal
from dataclasses import dataclass
from typing import Final

from contract.verdict import Outcome
from worker.protocol import Answer, Status
from worker.runner_process import Answered, Broke, Died, Overran

OUTCOMES: Final[dict[Status, tuple[Outcome, str]]] = {
    Status.NO_ENTRY: ("crashed", "no_entry"),
    Status.RAISED: ("crashed", "exception"),
    Status.EXITED: ("crashed", "exit"),
    Status.COMPILER: ("compile_error", "compiler"),
    Status.ABORTED: ("compile_error", "abort"),
    Status.SIGNALLED: ("crashed", "signal"),
    Status.MEMORY: ("out_of_memory", "allocation"),
    Status.WRONG_TYPE: ("incorrect", "type"),
    Status.WRONG_COUNT: ("incorrect", "count"),
    Status.WRONG_SHAPE: ("incorrect", "shape"),
    Status.WRONG_DTYPE: ("incorrect", "dtype"),
}


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong, once."""

    outcome: Outcome
    reason: str
    message: str

    @property
    def headline(self) -> str:
        """The first line of the message."""
        return self.message.partition("\n")[0]


def blame(end: Answered | Died | Overran | Broke, *, compiling: bool, limit: str) -> Failure:
    """Turn an end that is not the wished one into a failure.

    `compiling` says that no call has succeeded yet, so that an abort is the compiler's: Triton
    compiles at the first launch, and its assertions abort the process. `limit` is the name of the
    limit of time that applied.
    """
    match end:
        case Answered(answer):
            return _answered(answer)
        case Overran(limit_s):
            return Failure("timed_out", limit, f"no answer within {limit_s:g} s ({limit})")
        case Broke(message):
            return Failure("rejected", "protocol", f"the process broke the protocol: {message}")
        case Died(_, out_of_memory=True):
            return Failure("out_of_memory", "limit", "the process went over its limit of memory")
        case Died(status):
            return _died(status, compiling)


def _answered(answer: Answer) -> Failure:
    outcome, reason = OUTCOMES.get(answer.status, ("rejected", "protocol"))
    return Failure(outcome, reason, answer.text or f"the process answered {answer.status.name}")


def _died(status: int, compiling: bool) -> Failure:
    if status >= 0:
        return Failure("crashed", "exit", f"the process exited with status {status}")
    if -status == signal.SIGABRT and compiling:
        return Failure(
            "compile_error", "abort", "the process aborted (SIGABRT) before its first result"
        )
    return Failure("crashed", "signal", f"the process died of {_signal_name(-status)}")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
