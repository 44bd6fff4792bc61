"""The service itself: problems, health."""

from fastapi import APIRouter, Response

from contract.errors import InvalidSubmission
from contract.problem import PROBLEMS
from contract.submission import problem_named
from service.dependencies import Queue, Reader, Settings
from service.openapi import problems
from service.problem_document import status_problem
from service.service_views import Health, ProblemList, ProblemView, Readiness, problem_view
from service.views import json_response

router = APIRouter(tags=["service"])


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
    able = [each for each in await queue.workers() if each.fit]
    queued = sum((await queue.depth()).values())
    return json_response(Readiness(workers=len(able), queued=queued))
