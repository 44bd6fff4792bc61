"""The service itself: problems, workers, health, metrics."""

from fastapi import APIRouter, Response

from contract.errors import InvalidSubmission, QueueUnavailable
from contract.problem import PROBLEMS
from contract.submission import problem_named
from service.dependencies import Figures, Queue, Reader, Settings
from service.metrics import MEDIA_TYPE
from service.openapi import problems
from service.problem_document import status_problem
from service.views import (
    Health,
    ProblemList,
    ProblemView,
    Readiness,
    WorkerList,
    json_response,
    problem_view,
)

router = APIRouter(tags=["service"])


@router.get("/v1/workers", response_model=WorkerList, responses=problems(503))
async def workers(queue: Queue, caller: Reader) -> Response:
    """List the workers that are alive."""
    return json_response(WorkerList(workers=tuple(await queue.workers())))


@router.get("/v1/problems", response_model=ProblemList)
async def problem_list(settings: Settings, caller: Reader) -> Response:
    """List the problems, with limits and official cases."""
    views = tuple(problem_view(each, settings) for each in PROBLEMS.values())
    return json_response(ProblemList(problems=views))


@router.get("/v1/problems/{name}", response_model=ProblemView, responses=problems(404))
async def problem(name: str, settings: Settings, caller: Reader) -> Response:
    """Describe one problem."""
    try:
        found = problem_named(name)
    except InvalidSubmission as error:
        return status_problem(404, error.message)
    return json_response(problem_view(found, settings))


@router.get("/healthz", response_model=Health)
async def health() -> Response:
    """Say that the process lives."""
    return json_response(Health())


@router.get("/readyz", response_model=Readiness, responses=problems(503))
async def readiness(queue: Queue) -> Response:
    """Say whether jobs are accepted; the problem says why not."""
    alive = await queue.workers()
    queued = sum((await queue.depth()).values())
    return json_response(Readiness(workers=len(alive), queued=queued))


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}, **problems(503)},
)
async def metrics(queue: Queue, figures: Figures, caller: Reader) -> Response:
    """Give figures in the text format of Prometheus; also while the queue is away."""
    try:
        figures.queue_seen(await queue.depth(), await queue.workers())
    except QueueUnavailable:
        figures.queue_away()
    return Response(figures.exposition(), media_type=MEDIA_TYPE)
