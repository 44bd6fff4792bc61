"""The JSON of the service as the client reads it: names and types, nothing is copied or changed.

Members that a reader can do without are not required: a service of another version may lack them.
"""

from typing import Literal, NotRequired, TypedDict

State = Literal["queued", "running", "finished", "failed", "cancelled"]
ENDED: frozenset[State] = frozenset(("finished", "failed", "cancelled"))
Number = float | str
"""A number, or the word for one that is not finite."""


class CaseRequest(TypedDict, total=False):
    """One entry of `cases` as it is sent."""

    m: list[int]
    n: list[int]
    k: list[int]
    l: int  # noqa: E741
    seed: int | str
    distribution: str | dict[str, int | list[int]]
    poison_padding: bool


class CandidateRequest(TypedDict, total=False):
    """One of two that are to be compared: a built-in kernel, or a file."""

    kernel: str
    source: str
    source_base64: str
    filename: str


class Progress(TypedDict):
    """How far a running job is."""

    stage: str
    case: int | None
    cases: int


class Worst(TypedDict):
    """The element that is furthest off."""

    group: int
    row: int
    col: int
    got: Number
    expected: Number


class Comparison(TypedDict):
    """Outputs against the reference."""

    max_abs_error: float
    max_rel_error: float
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


Decision = Literal["faster", "slower", "no_difference"]


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


class Candidate(TypedDict):
    """B of a comparison."""

    kernel: str | None
    filename: str | None
    sha256: str | None


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


class Fault(TypedDict):
    """Why a job has no verdict."""

    reason: str
    message: str


class Headline(TypedDict):
    """The part of a verdict that a list shows."""

    outcome: str
    summary: str
    geomean_us: float | None


class JobView(TypedDict):
    """A job."""

    id: str
    number: int
    state: State
    mode: str
    problem: str
    kernel: str | None
    filename: str | None
    device: str
    owner: str
    attempts: int
    position: int | None
    created_at: str
    started_at: str | None
    finished_at: str | None
    worker: str | None
    progress: Progress | None
    verdict: Verdict | None
    error: Fault | None
    hint: NotRequired[str | None]
    other: NotRequired[Candidate]


class JobListItem(JobView):
    """A job in a list: its headline stands for its verdict."""

    headline: Headline | None


class JobList(TypedDict):
    """A page of jobs, the newest first."""

    jobs: list[JobListItem]
    next_cursor: str | None


class Worker(TypedDict):
    """A live worker."""

    id: str
    state: str
    device: str
    gpu: str | None
    sandbox_level: int
    job: str | None
    reason: NotRequired[str | None]


class Workers(TypedDict):
    """The live workers."""

    workers: list[Worker]


class Line(TypedDict):
    """The jobs of one mode that wait for one device."""

    device: str
    mode: str
    waiting: int
    oldest_s: float


class QueueView(TypedDict):
    """How the queue is."""

    waiting: int
    running: int
    workers: int
    lines: list[Line]


class Result(TypedDict):
    """One ranked job that passed."""

    job: str
    owner: str
    problem: str
    device: str
    geomean_us: float
    created_at: str
    finished_at: str


class Disqualification(TypedDict):
    """Why a result does not count any more."""

    at: str
    reason: str
    by: str


class HistoryResult(Result):
    """One of an owner's results."""

    disqualified: Disqualification | None


class History(TypedDict):
    """A page of an owner's results, the newest first."""

    results: list[HistoryResult]
    next_cursor: str | None


class Entry(Result):
    """Where an owner stands."""

    rank: int


class Leaderboard(TypedDict):
    """A page of a board, the best first."""

    entries: list[Entry]
    next_cursor: str | None


class Board(TypedDict):
    """A board in a list."""

    problem: str
    device: str
    entries: int
    best: Result


class Leaderboards(TypedDict):
    """The boards that anybody stands on."""

    leaderboards: list[Board]


class Webhook(TypedDict):
    """Where entries of the feed of ranked verdicts are posted."""

    url: str
    name: str
    since: str
