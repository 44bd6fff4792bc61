"""Profiles as clients of other leaderboards read them: texts in base64, and a zip.

The zip has the report file of Nsight Compute where that was kept, as popcorn-cli wants it.

Of mode `profile`, what a profiler saw on a GPU; of mode `compile`, what the compiler made: static,
nothing was run.
"""

import asyncio
import base64
import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from contract.job import Job
from contract.problem import PROBLEMS
from contract.profile import CompiledKernel, Profile, ProfiledKernel
from contract.queue import JobQueue
from contract.submission import Mode
from contract.verdict import Verdict
from service.compat.cases import spec_of
from service.compat.full_result import FullResult, ProfileFile
from service.visible import visible

PROFILES = (Mode.COMPILE, Mode.PROFILE)
"""Modes whose jobs leave a profile."""
NCU_DETAILS = "ncu-details.txt"
STATIC = "halfbyte compile (static: compiled, not run)"


class Section(NamedTuple):
    """A part of a report."""

    title: str
    text: str


def profiler_of(verdict: Verdict) -> str:
    """Say what made a profile."""
    profile = verdict.profile
    if profile is None:
        return STATIC
    return profile.tool if profile.note is None else f"{profile.tool} ({profile.note})"


def sections_of(job: Job, verdict: Verdict) -> Sequence[Section]:
    """Return what there is to read: a section a case, or a target where nothing was run."""
    if verdict.profile is None:
        targets = dict.fromkeys(kernel.target for kernel in verdict.kernels)
        return [Section(name, _compiled(verdict.kernels, name)) for name in targets]
    problem, profile = PROBLEMS[job.problem], verdict.profile
    return [
        Section(spec_of(problem, case), _profiled(profile, case.index)) for case in verdict.cases
    ]


def report_of_profile(job: Job, verdict: Verdict) -> str:
    """Return a profile as one text."""
    parts = (f"{each.title}\n{each.text}" for each in sections_of(job, verdict))
    return visible("\n\n".join((f"{profiler_of(verdict)}: {verdict.summary}", *parts)))


async def archive_of(queue: JobQueue, job: Job, verdict: Verdict) -> bytes:
    """Return a zip of the report, and of the artifacts that the verdict names."""
    files: dict[str, str | bytes] = {"report.txt": report_of_profile(job, verdict)}
    for name in _artifacts_of(verdict):
        data = await queue.artifact(job.id, name)
        if data is not None:
            files[_name_in_zip(verdict, name)] = data
    return await asyncio.to_thread(_zipped, files)  # megabytes: others are answered meanwhile


def _zipped(files: Mapping[str, str | bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()


async def with_profile(queue: JobQueue, job: Job, result: FullResult) -> FullResult:
    """Return the result with its profile as the one run, where there is a profile."""
    verdict = job.verdict
    if verdict is None or verdict.outcome != "passed" or job.mode not in PROFILES:
        return result
    sections = sections_of(job, verdict)
    told: dict[str, str | int] = {"benchmark-count": len(sections), "check": "pass"}
    for place, (title, text) in enumerate(sections):
        told[f"benchmark.{place}.spec"] = title
        told[f"benchmark.{place}.report"] = _base64(visible(text).encode())
    some = next(iter(result.runs.values()))
    right = {"success": True, "passed": True, "exit_code": 0, "result": told}
    trace = _base64(await archive_of(queue, job, verdict))
    run = some.model_copy(
        update={
            "run": some.run.model_copy(update=right),
            "profile": ProfileFile(profiler=profiler_of(verdict), trace=trace),
        }
    )
    return result.model_copy(update={"runs": {"profile.0": run}})


def _name_in_zip(verdict: Verdict, name: str) -> str:
    """Return the name that popcorn-cli unpacks, for what `ncu` says; any other as it is."""
    seen = verdict.profile
    of_ncu = seen is not None and seen.tool == "ncu" and name == seen.links.get("text")
    return NCU_DETAILS if of_ncu else name


def _artifacts_of(verdict: Verdict) -> Iterator[str]:
    """Yield the names of the artifacts: ours, as what a file calls its kernels may be a path."""
    for kernel in verdict.kernels:
        yield from kernel.links.values()
    if verdict.profile is not None:
        yield from verdict.profile.links.values()


def _compiled(kernels: Sequence[CompiledKernel], target: str) -> str:
    return "\n".join(_line_of_compiled(each) for each in kernels if each.target == target)


def _line_of_compiled(kernel: CompiledKernel) -> str:
    instructions = ", ".join(f"{count} x {name}" for name, count in kernel.instructions.items())
    return (
        f"{kernel.name}: {kernel.registers} registers, {kernel.spill_bytes} bytes spilled, "
        f"{kernel.shared_bytes} bytes of shared memory, "
        f"tensor cores: {instructions or 'not used'}, TMA: {'used' if kernel.tma else 'not used'}"
    )


def _profiled(profile: Profile, case: int) -> str:
    lines = [_line_of_profiled(each) for each in profile.kernels if each.case == case]
    return "\n".join(lines) or "no kernel was seen"


def _line_of_profiled(kernel: ProfiledKernel) -> str:
    """Leave out what the profiler does not tell."""
    figures = (
        (kernel.registers, "{} registers"),
        (kernel.shared_bytes, "{} bytes of shared memory"),
        (kernel.occupancy, "occupancy {:.0%}"),
        (kernel.gbytes_per_s, "{:.0f} GB/s"),
        (kernel.tensor_pipe, "tensor pipe {:.0%}"),
    )
    told = [text.format(value) for value, text in figures if value is not None]
    return f"{kernel.name}: " + ", ".join((f"{kernel.duration_us:.2f} us", *told))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
