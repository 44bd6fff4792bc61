"""The problems, as a page."""

from fastapi import APIRouter, Response

from contract.problem import PROBLEMS
from service.dependencies import Reader, Settings
from service.pages.render import page
from service.service_views import problem_view

router = APIRouter(include_in_schema=False)


@router.get("/problems")
async def problems(settings: Settings, caller: Reader) -> Response:
    """Describe every problem, with its official cases."""
    views = [problem_view(each, settings) for each in PROBLEMS.values()]
    return page("problems.html", caller, {"problems": views})
