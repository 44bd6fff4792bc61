"""A verdict as the client reads it: see client.wire."""

from typing import Literal, NotRequired, TypedDict

Number = float | str
"""A number, or the word for one that is not finite."""
Decision = Literal["faster", "slower", "no_difference"]


class Worst(TypedDict):
    """The element that is furthest off."""

    group: int
    row: int
    col: int
    got: Number
    expected: Number


class Comparison(TypedDict):
    """Outputs against the reference."""

    max_abs_error: float | None
    max_rel_error: float | None
    mismatched_elements: int
    non_finite_elements: int
    bit_exact: bool
    worst: Worst | None


class Timing(TypedDict):
    """Device time of one case."""

    median_us: float
    p10_us: float
    p90_us: float
    samples: int
    unstable: bool
    launch_bound: bool
    tflops: float
    speed_of_light_us: float
    fraction_of_speed_of_light: float


class CaseResult(TypedDict):
    """What was found for one case."""

    index: int
    m: list[int]
    n: list[int]
    k: list[int]
    l: NotRequired[int]  # noqa: E741
    outcome: str | None
    reason: str | None
    message: str | None
    comparison: Comparison | None
    timing: Timing | None
    first_call_s: NotRequired[float | None]


class Log(TypedDict):
    """What the candidate printed."""

    stdout: str
    stderr: str
    stdout_bytes: int
    stderr_bytes: int
    truncated: bool


class CompiledKernel(TypedDict):
    """One kernel of a compile job."""

    name: str
    target: str
    instructions: dict[str, int]
    registers: int
    spill_bytes: int
    shared_bytes: int
    tma: bool
    links: dict[str, str]


class AuditedCase(TypedDict):
    """A ranked time beside the kernels of one call."""

    case: int
    median_us: float
    kernels_us: float
    exceeds: bool


class ProfiledKernel(TypedDict):
    """One launch of a kernel under a profiler; None is what it does not tell."""

    case: int
    name: str
    duration_us: float
    registers: int | None
    shared_bytes: int | None
    occupancy: float | None
    theoretical_occupancy: float | None
    gbytes_per_s: float | None
    tensor_pipe: float | None


class Profile(TypedDict):
    """What a profiler saw."""

    tool: str
    note: str | None
    kernels: list[ProfiledKernel]
    links: dict[str, str]


class Score(TypedDict):
    """Geometric mean over the scored cases."""

    geomean_us: float


class Ratio(TypedDict):
    """The time of B over that of A, with an interval of 99 %."""

    ratio: float
    low: float
    high: float
    rounds: int
    decision: Decision


class ComparedCase(TypedDict):
    """A case of a comparison."""

    index: int
    b: CaseResult
    ratio: Ratio | None


class Compared(TypedDict):
    """What a comparison found of B, and of both."""

    overall: Ratio | None
    at_fault: Literal["a", "b"] | None
    cases: list[ComparedCase]
    log: Log


class Verdict(TypedDict):
    """What judging found."""

    outcome: str
    summary: str
    message: NotRequired[str]
    cases: list[CaseResult]
    score: Score | None
    environment: dict[str, str | None]
    sandbox_level: int
    emulated: bool
    log: Log
    seed: str | None
    reproduce: str | None
    kernels: list[CompiledKernel]
    profile: NotRequired[Profile | None]
    audit: NotRequired[list[AuditedCase] | None]
    compared: NotRequired[Compared | None]
