"""A job: an accepted submission with an id and a state."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from contract.device import CPU, GPU_ONLY, UNKNOWN, line_of
from contract.submission import Candidate, Mode, Submission
from contract.verdict import Verdict


class JobState(StrEnum):
    """Where a job is."""

    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    """Has a verdict."""
    FAILED = "failed"
    """Has no verdict, through no fault of the candidate: has an error."""
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        """Whether nothing can happen to the job any more."""
        return self in (JobState.FINISHED, JobState.FAILED, JobState.CANCELLED)


class Fault(BaseModel):
    """Why a job has no verdict."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    reason: str
    """A fixed word: `worker_lost`, `runner_failed`, `judge_failed`, `no_worker`, ..."""
    message: str


class Progress(BaseModel):
    """How far a running job is."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    stage: str
    """`starting`, `importing`, `testing`, `benchmarking`, `comparing`, `compiling`, ..."""
    case: int | None = None
    """Index of the case that runs."""
    cases: int = 0


class Job(BaseModel):
    """A job as it is stored. `position` is 1 for the job that runs next, null unless queued."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    id: str
    number: int
    state: JobState
    mode: Mode
    problem: str
    kernel: str | None = None
    filename: str | None = None
    sha256: str | None = None
    other: Candidate | None = Field(default=None, exclude_if=lambda other: other is None)
    """B of a comparison, whose `kernel` and so on are those of A; left out of every other job."""
    device: str
    owner: str
    attempts: int = 0
    position: int | None = None
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    worker: str | None = None
    progress: Progress | None = None
    verdict: Verdict | None = None
    why_not: str | None = Field(default=None, exclude_if=lambda why: why is None)
    """Why a ranked job that passed has no place on a leaderboard; left out of every other job."""
    error: Fault | None = None


class Headline(BaseModel):
    """The part of a verdict that a list shows."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    outcome: str
    summary: str
    geomean_us: float | None = None


class JobSummary(BaseModel):
    """A job as a list shows it: without its verdict, with the headline of it."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    job: Job
    headline: Headline | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """A job as a status query wants it: its verdict as bytes that were written once."""

    job: Job
    """Without its verdict."""
    verdict: bytes | None
    """JSON, without raw samples and review; None also where it names artifacts."""
    review: bytes | None
    """JSON, with the verdict."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A worker's right to one attempt at a job. Every write is checked against it."""

    job: Job
    submission: Submission
    worker: str
    attempt: int
    token: str = ""
    """Drawn for each claim, so it stands for the worker and the attempt: what writes carry."""


class JobEvent(BaseModel):
    """One event of a job's stream. `id` is what Last-Event-ID resumes from."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    id: str
    type: str
    """`state` with `{"state": ...}`, or `progress` with the members of Progress."""
    data: dict[str, object]


class WorkerState(StrEnum):
    """What a worker does."""

    STARTING = "starting"
    IDLE = "idle"
    BUSY = "busy"
    DRAINING = "draining"
    UNHEALTHY = "unhealthy"


class WorkerInfo(BaseModel):
    """A live worker as it describes itself."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    id: str
    pid: int
    host: str
    device: str = UNKNOWN
    """`cpu`, `H200`, ...: what jobs can ask for; `unknown` while its judge never came up."""
    serves: tuple[str, ...] = ()
    """All device names whose jobs it takes, the most special first: `H200`, `sm_90`, `any`."""
    gpu: str | None = None
    """Its name; while its judge never came up, what the worker was told to take."""
    python: str
    """`3.11`: whose grammar submissions are checked with."""
    sandbox_level: int | None = None
    """None while its judge never came up."""
    ranked: bool = False
    """Whether it takes ranked jobs: it has a GPU, and its sandbox is as tight as they need."""
    job: str | None = None
    state: WorkerState = WorkerState.STARTING
    reason: str | None = None
    """Why it takes no jobs, where it is `unhealthy`: what its GPU failed in, who has it, or what
    else kept its judge from coming up."""
    heartbeat_at: datetime | None = None

    @property
    def fit(self) -> bool:
        """Whether its device can be used."""
        return self.state is not WorkerState.UNHEALTHY

    def takes(self, mode: Mode) -> bool:
        """Whether it is fit for jobs of a mode."""
        return self.ranked if mode is Mode.RANKED else mode not in GPU_ONLY or self.device != CPU

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines it takes jobs from: its devices, and those of modes that need what it has."""
        return self.serves + tuple(
            line_of(device, mode) for mode in GPU_ONLY if self.takes(mode) for device in self.serves
        )
