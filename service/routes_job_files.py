"""What a job has beside its view: the file that was sent, what it printed, and its artifacts."""

from typing import Literal

from fastapi import APIRouter, Response

from contract.job import Job, JobState
from service.access import job_of
from service.dependencies import Queue, Reader
from service.openapi import problems
from service.problem_document import status_problem

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

NO_SNIFFING = {"X-Content-Type-Options": "nosniff"}
NCU_REPORT = ".ncu-rep"
OCTETS = "application/octet-stream"
BYTES: dict[str, object] = {OCTETS: {"schema": {"type": "string", "format": "binary"}}}


@router.get(
    "/{job_id}/source",
    response_class=Response,
    responses={200: {"content": BYTES}, **problems(404, 422, 503)},
)
async def source(
    job_id: str, queue: Queue, caller: Reader, candidate: Literal["a", "b"] = "a"
) -> Response:
    """Fetch the submitted file, byte for byte; of a comparison that of A, or of B."""
    job = await job_of(queue, job_id, caller)
    sent = job if candidate == "a" else job.other
    if sent is None:
        return status_problem(404, f"job {job_id} is no comparison: it has no B")
    source = await queue.source(job_id, other=candidate == "b")
    if source is None:
        return status_problem(404, f"job {job_id} runs the built-in kernel `{sent.kernel}`")
    return _download(source, str(sent.filename))


@router.get(
    "/{job_id}/log",
    response_class=Response,
    responses={
        200: {"content": {"text/plain; charset=utf-8": {"schema": {"type": "string"}}}},
        **problems(404, 503),
    },
)
async def captured_output(job_id: str, queue: Queue, caller: Reader) -> Response:
    """Fetch what the candidate printed: standard output, then standard error, capped."""
    job = await job_of(queue, job_id, caller)
    if job.verdict is None:
        return status_problem(404, f"job {job_id} {_why_no_log(job)}")
    log = job.verdict.log
    return Response(
        log.stdout + log.stderr, headers=NO_SNIFFING, media_type="text/plain; charset=utf-8"
    )


def _why_no_log(job: Job) -> str:
    if job.error is not None:
        return (
            f"failed, and nothing of its output was kept: {job.error.reason}, {job.error.message}"
        )
    if job.state is JobState.CANCELLED:
        return "was cancelled; only a finished job has a log"
    return f"is {job.state}; its log is there once it has finished"


@router.get(
    "/{job_id}/artifacts/{name}",
    response_class=Response,
    responses={
        200: {
            "content": {
                "text/plain; charset=utf-8": {"schema": {"type": "string"}},
                **BYTES,
            }
        },
        **problems(404, 503),
    },
)
async def artifact(job_id: str, name: str, queue: Queue, caller: Reader) -> Response:
    """Fetch what a verdict links to: PTX or SASS of a kernel, a profiler's text, its report file.

    A long text is cut. The file is what a stranger's process wrote: bytes to save, never shown.
    """
    await job_of(queue, job_id, caller)
    found = await queue.artifact(job_id, name)
    if found is None:
        return status_problem(404, f"job {job_id} has no such artifact")
    if name.endswith(NCU_REPORT):
        return _download(found, name)
    return Response(found, headers=NO_SNIFFING, media_type="text/plain; charset=utf-8")


def _download(data: bytes, filename: str) -> Response:
    disposition = {"Content-Disposition": f'attachment; filename="{filename}"'}
    return Response(data, headers=disposition | NO_SNIFFING, media_type=OCTETS)
