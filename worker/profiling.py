"""What a profiler process reports becomes a profile, and evidence about a ranked time.

The report is read from shared memory in one copy, and held to a schema. It is the candidate's word
about itself: it can lie, and harms nobody by it. The file of Nsight Compute is bytes to us: handed
on, and opened by nobody here.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from contract.profile import AuditedCase, Profile, ProfiledKernel
from contract.verdict import CaseResult
from kernels.problem import Case
from worker.arena import HostPiece
from worker.blame import Failure, blame
from worker.ends import Answered, End
from worker.ncu import MOST_KERNELS
from worker.protocol import Status
from worker.runner_process import RunnerProcess
from worker.tool_report import PROFILE_BYTES, TEXT_BYTES, read_file, read_report

log = logging.getLogger("halfbyte.judge")

TEXT_NAME: Final = "profile.txt"
FILE_NAME: Final = "profile.ncu-rep"
EXCESS_SHARE: Final = 0.03
EXCESS_US: Final = 1.5
"""Kernels that take longer than the time of a case by more than both are worth a look."""

Figure = Annotated[float, Field(ge=0, lt=1e15, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, lt=2**31)]


class ReportedKernel(BaseModel):
    """One launch as the process reports it."""

    model_config = ConfigDict(extra="forbid")

    case: Annotated[int, Field(ge=0, lt=64)]
    name: Annotated[str, Field(max_length=200)]
    duration_us: Figure
    registers: Count | None = None
    shared_bytes: Count | None = None
    occupancy: Figure | None = None
    theoretical_occupancy: Figure | None = None
    gbytes_per_s: Figure | None = None
    tensor_pipe: Figure | None = None


class Report(BaseModel):
    """What the process reports."""

    model_config = ConfigDict(extra="forbid")

    tool: Literal["ncu", "torch"]
    note: Annotated[str, Field(max_length=1 << 14)] | None
    kernels: Annotated[list[ReportedKernel], Field(max_length=MOST_KERNELS)]
    text: Annotated[str, Field(max_length=TEXT_BYTES)]


@dataclass(frozen=True, slots=True)
class Order:
    """What to profile."""

    problem: str
    cases: Sequence[Case]
    source: bytes
    seed: int
    ncu: Path | None


@dataclass(frozen=True, slots=True)
class Profiled:
    """What profiling found."""

    profile: Profile
    artifacts: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class LookedAt:
    """What a verdict says of it, and the artifacts that it names."""

    fields: dict[str, object] = field(default_factory=dict)
    artifacts: dict[str, bytes] = field(default_factory=dict)


def profile(order: Order, runner: RunnerProcess, limit_s: float, cancel_fd: int) -> Profiled:
    """Have a profiler process do the work within a limit. Its failure is a note, never an outcome.

    Raises:
        RunnerFailed, Interrupted: see `worker.runner_process`.

    """
    memory = HostPiece(PROFILE_BYTES)
    try:
        end = _ended(order, memory, runner, limit_s, cancel_fd)
        report, file = read_report(memory.mapping, 0), read_file(memory.mapping)
    finally:
        memory.close()
    if not (isinstance(end, Answered) and end.answer.status is Status.DONE):
        runner.close()
        last = runner.stderr.text().strip().splitlines()[-1:]
        limit_bytes = runner.memory_bytes
        failed = blame(end, compiling=False, limit="job_limit", memory_bytes=limit_bytes)
        return _nothing(failed, *last)
    try:
        found = Report.model_validate_json(report)
    except ValidationError:
        return _nothing(Failure("rejected", "protocol", "it reported what no honest process does"))
    kernels = tuple(ProfiledKernel(**kernel.model_dump()) for kernel in found.kernels)
    left = {
        "text": (TEXT_NAME, found.text.encode()),
        "report": (FILE_NAME, file if found.tool == "ncu" else b""),
    }
    links = {kind: name for kind, (name, data) in left.items() if data}
    seen = Profile(tool=found.tool, note=found.note, kernels=kernels, links=links)
    return Profiled(seen, {name: data for name, data in left.values() if data})


def _ended(
    order: Order, memory: HostPiece, runner: RunnerProcess, limit_s: float, cancel_fd: int
) -> End:
    """Hand the order over, and return how the process ended."""
    wanted = {
        "problem": order.problem,
        "cases": [asdict(case) for case in order.cases],
        "seed": f"{order.seed:032x}",
        "ncu": None if order.ncu is None else str(order.ncu),
    }
    ends_s = time.monotonic() + limit_s
    end = runner.start_order(wanted, order.source, memory.fd, limit_s, cancel_fd)
    if isinstance(end, Answered) and end.answer.status is Status.REVIEWED:
        end = runner.answer(1, max(0.0, ends_s - time.monotonic()), cancel_fd)
    return end


def _nothing(failure: Failure, *last_words: str) -> Profiled:
    how = failure.outcome.replace("_", " ")
    words = "; ".join((f"the profiled process: {how}: {failure.headline}", *last_words))
    return Profiled(Profile(tool="ncu", note=words), {})


def profiled(seen: Profiled) -> LookedAt:
    """Return what a profile job's verdict says."""
    return LookedAt({"profile": seen.profile}, seen.artifacts)


def audit(timed: Sequence[CaseResult], seen: Profiled) -> LookedAt:
    """Hold times against the kernels of one call each; none where `ncu` saw not all of them."""
    kernels = seen.profile.kernels
    sums = [
        sum(each.duration_us for each in kernels if each.case == place)
        for place, _ in enumerate(timed)
    ]
    if seen.profile.tool != "ncu" or not all(sums):
        log.warning("no audit: %s", seen.profile.note)
        return LookedAt({"audit": ()})
    return LookedAt({"audit": tuple(map(_audited, timed, sums))})


def _audited(case: CaseResult, kernels_us: float) -> AuditedCase:
    assert case.timing is not None
    median_us = case.timing.median_us
    exceeds = kernels_us > median_us + max(EXCESS_US, EXCESS_SHARE * median_us)
    return AuditedCase(case=case.index, median_us=median_us, kernels_us=kernels_us, exceeds=exceeds)
