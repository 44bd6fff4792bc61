"""What judging found: one class an outcome, told apart by `outcome`. Only `Passed` has a score.

A verdict is about the candidate. A fault of ours is never written here: the job fails instead.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from contract.profile import AuditedCase, CompiledKernel, Profile
from kernels.measurement import Calibration, Comparison, Timing
from kernels.problem import Distribution
from kernels.turns import Ratio

Outcome = Literal[
    "passed",
    "incorrect",
    "crashed",
    "compile_error",
    "timed_out",
    "out_of_memory",
    "rejected",
]


class CaseResult(BaseModel):
    """What was found for one case. `outcome` is null for a case that never ran."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    index: int
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]
    l: int = 1  # noqa: E741
    distribution: Distribution
    outcome: Outcome | None = None
    reason: str | None = None
    """A fixed word for programs: `values`, `dtype`, `inputs_modified`, `signal`, ..."""
    message: str | None = None
    """A sentence for people: what, where, and what was expected."""
    comparison: Comparison | None = None
    """Null unless values were compared."""
    timing: Timing | None = None
    first_call_s: float | None = None
    """The first call of the case, never a timed one: what is compiled or tuned for these sizes is
    in it, and by the judge's clock what a call costs us. Null where it did not answer."""


class Log(BaseModel):
    """What the candidate printed: head and tail of each, decoded with replacement."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    stdout: str = ""
    stderr: str = ""
    stdout_bytes: int = 0
    """Bytes written, kept or not."""
    stderr_bytes: int = 0
    truncated: bool = False


class Environment(BaseModel):
    """The machine and the versions a verdict was found on."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    host: str
    device: str
    gpu: str | None = None
    gpu_uuid: str | None = None
    driver: str | None = None
    cpu: str | None = None
    python: str
    torch: str
    triton: str
    cuda: str | None = None
    halfbyte: str
    sandbox: str = "none"
    """How the runner was confined, in words."""


class HiddenCases(BaseModel):
    """The hidden cases of a ranked job. Their sizes and values are told to nobody."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    cases: int
    passed: int
    """How many ran and were right; the ones after a failure do not run."""


class Score(BaseModel):
    """Geometric mean of the medians of the scored cases, at full precision.

    Scored are all cases of a `benchmark` job, and the official benchmarks of a `ranked` one.
    """

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    geomean_us: float


class ReviewFlag(BaseModel):
    """Something in the file that a person should look at. No outcome depends on it."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    line: int
    word: str
    """A fixed word: `ctypes`, `threads`, `pointer_cache`, ..."""
    why: str


class ComparedCase(BaseModel):
    """A case of a comparison: what was found for B, and how its time relates to that of A."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    index: int
    b: CaseResult
    """What `cases` of the verdict has for A."""
    ratio: Ratio | None = None
    """Null where the case was not timed."""


class Compared(BaseModel):
    """What mode `compare` found: the rest of the verdict speaks of A, this of B and of both."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    overall: Ratio | None = None
    """Over all timed cases, each of equal weight; null where one of the two failed."""
    at_fault: Literal["a", "b"] | None = None
    """Whose failure the verdict tells; null where both passed, or where it cannot be told whose."""
    cases: tuple[ComparedCase, ...]
    log: Log = Log()
    """What B printed."""


class _Verdict(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    summary: str
    """One sentence: the outcome, and for a failure the first place it was found."""
    cases: tuple[CaseResult, ...] = ()
    environment: Environment
    sandbox_level: int
    emulated: bool
    """True where a CPU stood in for a GPU: correctness only, never ranked."""
    log: Log = Log()
    review: tuple[ReviewFlag, ...] = ()
    """What in the file a person should look at. A hint, and never a reason of the outcome."""
    seed: str | None = None
    """The job's 128-bit seed in hex: what all operands but those of hidden cases follow from.

    It is drawn by the judge for one attempt at one job, so that nobody has it before the verdict,
    and nothing is left to be gained by it afterwards. Null in mode `compile`, which draws nothing.
    """
    reproduce: str | None = None
    """A request body that repeats the first failing case, or the first case."""
    calibration: Calibration | None = None
    """What the machine adds to a timed call; null where nothing is timed."""
    hidden: HiddenCases | None = None
    """Null in every mode but `ranked`."""
    kernels: tuple[CompiledKernel, ...] = ()
    profile: Profile | None = None
    """Of mode `profile`, where everything was right; else null."""
    audit: tuple[AuditedCase, ...] | None = None
    """Of mode `ranked`, where it passed and its worker has `ncu`; empty where that saw too few."""
    compared: Compared | None = None
    """Of mode `compare`; else null."""


class _Failed(_Verdict):
    score: None = None
    reason: str
    """The fixed word of the first failure: of a case, or of the import before any."""
    message: str
    """Its sentence, with the traceback where there is one."""


class Passed(_Verdict):
    """Every call of every case was right."""

    outcome: Literal["passed"] = "passed"
    score: Score | None = None
    """Null where nothing was timed."""


class Incorrect(_Failed):
    """Wrong values, shape, dtype, count or type, or changed inputs."""

    outcome: Literal["incorrect"] = "incorrect"


class Crashed(_Failed):
    """The candidate raised, exited, died of a signal, or could not be imported."""

    outcome: Literal["crashed"] = "crashed"


class CompileError(_Failed):
    """A compiler refused or aborted."""

    outcome: Literal["compile_error"] = "compile_error"


class TimedOut(_Failed):
    """Over a limit of time."""

    outcome: Literal["timed_out"] = "timed_out"


class OutOfMemory(_Failed):
    """Over the limit of memory."""

    outcome: Literal["out_of_memory"] = "out_of_memory"


class Rejected(_Failed):
    """A forged clock, a time below what physics allows, or a kernel left running."""

    outcome: Literal["rejected"] = "rejected"


Verdict = Annotated[
    Passed | Incorrect | Crashed | CompileError | TimedOut | OutOfMemory | Rejected,
    Field(discriminator="outcome"),
]
VERDICT: TypeAdapter[Verdict] = TypeAdapter(Verdict)
_SAMPLES = {"timing": {"samples_us": True}}
RAW_SAMPLES: dict[str, Any] = {
    "cases": {"__all__": _SAMPLES},
    "compared": {"cases": {"__all__": {"b": _SAMPLES}}},
}
"""What `exclude` takes to leave raw samples out of a verdict."""
