"""Pictures of a job as files of their own, to be embedded elsewhere."""

from fastapi import APIRouter, Response

from service.access import job_of
from service.dependencies import Queue, Reader
from service.openapi import problems
from service.pages.comparing import intervals_of
from service.pages.render import picture
from service.pages.roofline import roofline_of
from service.pages.samples import samples_of
from service.problem_document import status_problem

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["jobs"])
RESPONSES = {
    200: {"content": {"image/svg+xml": {"schema": {"type": "string"}}}},
    **problems(404, 503),
}


@router.get("/roofline.svg", response_class=Response, responses=RESPONSES)
async def roofline(job_id: str, queue: Queue, caller: Reader) -> Response:
    """Draw how far each timed case is from the speed of light."""
    verdict = (await job_of(queue, job_id, caller)).verdict
    chart = verdict and roofline_of(verdict)
    return picture("roofline.svg", chart) if chart else _untimed(job_id)


@router.get("/samples.svg", response_class=Response, responses=RESPONSES)
async def samples(job_id: str, queue: Queue, caller: Reader) -> Response:
    """Draw the distribution of samples of each timed case."""
    verdict = (await job_of(queue, job_id, caller)).verdict
    chart = verdict and samples_of(verdict)
    return picture("samples.svg", chart) if chart else _untimed(job_id)


@router.get("/intervals.svg", response_class=Response, responses=RESPONSES)
async def intervals(job_id: str, queue: Queue, caller: Reader) -> Response:
    """Draw what a comparison found: the ratio of each case with its interval."""
    verdict = (await job_of(queue, job_id, caller)).verdict
    chart = verdict and verdict.compared and intervals_of(verdict.compared)
    return picture("intervals.svg", chart) if chart else _untimed(job_id)


def _untimed(job_id: str) -> Response:
    return status_problem(404, f"job {job_id} has no times to draw")
