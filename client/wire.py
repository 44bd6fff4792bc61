"""Jobs as the client reads and asks for them: the JSON of the service with types, unchanged.

Members that a reader can do without are not required: a service of another version may lack them.
Verdicts are in client.wire_verdict, workers, queue and leaderboards in client.wire_service.
"""

from typing import Literal, NotRequired, TypedDict

from client.wire_verdict import Verdict

State = Literal["queued", "running", "finished", "failed", "cancelled"]
ENDED: frozenset[State] = frozenset(("finished", "failed", "cancelled"))


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


class Fault(TypedDict):
    """Why a job has no verdict."""

    reason: str
    message: str


class Headline(TypedDict):
    """The part of a verdict that a list shows."""

    outcome: str
    summary: str
    geomean_us: float | None


class Candidate(TypedDict):
    """B of a comparison."""

    kernel: str | None
    filename: str | None
    sha256: str | None


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
    why_not: NotRequired[str]


class JobListItem(JobView):
    """A job in a list: its headline stands for its verdict."""

    headline: Headline | None


class JobList(TypedDict):
    """A page of jobs, the newest first."""

    jobs: list[JobListItem]
    next_cursor: str | None
