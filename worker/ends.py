"""How waiting for a runner ends: what the judge has seen of it, and blames nobody for yet."""

from dataclasses import dataclass

from worker.protocol import Answer


@dataclass(frozen=True, slots=True)
class Answered:
    """The runner answered."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class Died:
    """The process ended: an exit status, or a signal as a negative number."""

    status: int
    out_of_memory: bool


@dataclass(frozen=True, slots=True)
class Overran:
    """No answer within the limit; the process was killed."""

    limit_s: float


@dataclass(frozen=True, slots=True)
class Broke:
    """The process sent what no honest runner sends, and was killed."""

    message: str


End = Answered | Died | Overran | Broke
