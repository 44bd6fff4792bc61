"""The profile of a file: what the compiler made of it, as text and as a zip with PTX and SASS.

Static: nothing was run, so there are no durations. Made from a job of mode `compile`.
"""

import base64
import io
import zipfile

from contract.job import Job
from contract.queue import JobQueue
from contract.verdict import CompiledKernel, Verdict
from service.popcorn.views import Json, result_of

PROFILER = "halfbyte compile (static: compiled, not run)"
REPORT = "report.txt"


def report_of_kernels(verdict: Verdict) -> str:
    """Return a line a kernel and target."""
    return "\n".join((f"{PROFILER}: {verdict.summary}", *map(_line_of, verdict.kernels)))


async def archive_of(queue: JobQueue, job: Job) -> bytes:
    """Return a zip of the report, and of PTX and SASS of every kernel."""
    assert job.verdict is not None
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(REPORT, report_of_kernels(job.verdict))
        for kernel in job.verdict.kernels:
            for kind, name in kernel.links.items():
                text = await queue.artifact(job.id, name)
                if text is not None:
                    archive.writestr(f"{kernel.target}/{kernel.name}.{kind}", text)
    return packed.getvalue()


def profile_result(job: Job, report: str, archive: bytes) -> Json:
    """Return a result with one run, whose count is a number and whose texts are in base64."""
    plain = result_of(job).model_dump(mode="json")
    ((_, run),) = plain["runs"].items()
    result = {
        "benchmark-count": 1,
        "benchmark.0.spec": "all kernels and targets",
        "benchmark.0.report": base64.b64encode(report.encode()).decode("ascii"),
        "check": "pass",
    }
    run["run"] |= {"success": True, "passed": True, "exit_code": 0, "result": result}
    trace = base64.b64encode(archive).decode("ascii")
    run["profile"] = {"profiler": PROFILER, "trace": trace, "download_url": ""}
    return {**plain, "success": True, "runs": {"profile.0": run}}


def _line_of(kernel: CompiledKernel) -> str:
    instructions = ", ".join(f"{count} x {name}" for name, count in kernel.instructions.items())
    return (
        f"{kernel.target} {kernel.name}: {kernel.registers} registers, "
        f"{kernel.spill_bytes} bytes spilled, {kernel.shared_bytes} bytes of shared memory, "
        f"tensor cores: {instructions or 'not used'}, TMA: {'used' if kernel.tma else 'not used'}"
    )
