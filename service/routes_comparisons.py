"""Comparisons: two candidates that take turns on one worker. Each is a job of mode `compare`."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from contract.errors import JobNotFound
from contract.submission import Mode
from service.access import look_of
from service.comparison_body import read_comparison
from service.dependencies import Reader, parts_of
from service.openapi import comparison_body, problems
from service.routes_jobs import Watch, job
from service.routes_submit import RESPONSES, Key, Sender, accepted
from service.views import JobView

PATH = "/v1/comparisons"
router = APIRouter(prefix=PATH, tags=["comparisons"])


@router.post(
    "",
    status_code=202,
    response_model=JobView,
    responses=RESPONSES,
    openapi_extra=comparison_body(),
)
async def compare(request: Request, caller: Sender, key: Key = None) -> Response:
    """Have two files compared, or a file and a built-in kernel.

    As JSON, or as a form whose parts `a` and `b` are files or name a kernel.
    """
    parts = parts_of(request)
    sent = await read_comparison(request, parts.settings)
    return await accepted(sent, caller, key, parts, under=PATH)


@router.get("/{job_id}", response_model=JobView, responses=problems(404, 422, 503))
async def comparison(
    request: Request, job_id: str, caller: Reader, watch: Annotated[Watch, Query()]
) -> Response:
    """Look at a comparison, at once or when it has ended; a job of another mode is none."""
    look = await look_of(parts_of(request).looks, job_id, caller)
    if look.job.mode is not Mode.COMPARE:
        raise JobNotFound(job_id)
    return await job(request, job_id)
