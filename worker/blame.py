"""How a runner's end becomes an outcome: what the candidate is blamed for, and in which words."""

import signal
from dataclasses import dataclass
from typing import Final

from contract.verdict import Outcome
from worker.ends import Answered, Broke, Died, End, Overran
from worker.protocol import Answer, Status

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


def blame(end: End, *, compiling: bool, limit: str, memory_bytes: int) -> Failure:
    """Turn an end that is not the wished one into a failure.

    `compiling` says that no call has succeeded yet, so that an abort is the compiler's: Triton
    compiles at the first launch, and its assertions abort the process. `limit` is the name of the
    limit of time that applied, `memory_bytes` the limit of memory on the host.
    """
    match end:
        case Answered(answer):
            return _answered(answer, memory_bytes)
        case Overran(limit_s):
            return Failure("timed_out", limit, f"no answer within {limit_s:g} s ({limit})")
        case Broke(message):
            return Failure("rejected", "protocol", f"the process broke the protocol: {message}")
        case Died(_, out_of_memory=True):
            over = f"the process went over its limit of memory, {in_gib(memory_bytes)} on the host"
            return Failure("out_of_memory", "limit", over)
        case Died(status):
            return _died(status, compiling)


def _answered(answer: Answer, memory_bytes: int) -> Failure:
    outcome, reason = OUTCOMES.get(answer.status, ("rejected", "protocol"))
    text = answer.text or f"the process answered {answer.status.name}"
    if answer.status is Status.MEMORY:
        text = _with_limit(text, memory_bytes)
    return Failure(outcome, reason, text)


def _with_limit(text: str, memory_bytes: int) -> str:
    """Name the limit in the first line; how much a GPU has, torch says itself."""
    first, newline, rest = text.partition("\n")
    if "CUDA" in first or "CUBLAS" in first:
        return text
    return f"{first} (its limit of memory is {in_gib(memory_bytes)} on the host){newline}{rest}"


def in_gib(size_bytes: int) -> str:
    """Write a size as people read it."""
    return f"{size_bytes / 2**30:.3g} GiB"


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
