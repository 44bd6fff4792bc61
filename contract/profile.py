"""What tools say of a file's kernels: a compiler, or a profiler. No outcome depends on it."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


class CompiledKernel(BaseModel):
    """One kernel of a compile job."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    name: str
    target: str
    instructions: dict[str, int]
    """Tensor-core instructions in the PTX, and how often each is written there."""
    registers: int
    """Of one thread."""
    spill_bytes: int
    """Local memory of one thread: registers that were spilled, and arrays of its own."""
    shared_bytes: int
    """Of one program, in bytes."""
    tma: bool
    """Whether it copies tensors by TMA."""
    links: dict[str, str] = {}
    """Where `ptx` and `sass` are: names of the job's artifacts, paths once served."""


class ProfiledKernel(BaseModel):
    """One launch of a kernel under a profiler. Null is what the profiler does not tell."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    case: int
    name: str
    duration_us: float
    registers: int | None = None
    """Of one thread."""
    shared_bytes: int | None = None
    """Of one program, what the driver takes included."""
    occupancy: float | None = None
    """Warps that were active, as a share of the most that an SM holds."""
    theoretical_occupancy: float | None = None
    """What registers and shared memory allow of that."""
    gbytes_per_s: float | None = None
    """To and from device memory."""
    tensor_pipe: float | None = None
    """Share of the duration in which tensor cores work, on average over all SMs."""


class Profile(BaseModel):
    """What a profiler saw of a file's kernels, as the process tells it that runs the file.

    It can lie: nothing is judged or scored by it. Kernels run alone, from cold caches, and several
    times each.
    """

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    tool: Literal["ncu", "torch"]
    note: str | None = None
    """Why it was not `ncu`, or what else went wrong."""
    kernels: tuple[ProfiledKernel, ...] = ()
    """In the order of their launches."""
    links: dict[str, str] = {}
    """Where the profiler's own `text` is, and its `report` file where that is kept: names of the
    job's artifacts, paths once served."""


class AuditedCase(BaseModel):
    """The time of a ranked case beside what `ncu` says that its kernels take."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    case: int
    median_us: float
    kernels_us: float
    """Sum over the kernels of one call."""
    exceeds: bool
    """The sum is so far above the time that a person should look. No outcome depends on it."""
