"""All that the client calls."""

from fastapi import APIRouter

from service.popcorn.routes_admin import router as admin
from service.popcorn.routes_boards import router as boards
from service.popcorn.routes_profiler import router as profiler
from service.popcorn.routes_stream import router as stream
from service.popcorn.routes_submissions import router as submissions

PREFIX = "/popcorn"


def popcorn(*, at_root: bool) -> APIRouter:
    """Return the routes, under the prefix, and at the root as well where that is wanted.

    They are another program's interface and not in our description. To be included last: one path
    takes any three words.
    """
    routes = APIRouter()
    for router in (boards, submissions, admin, stream):
        routes.include_router(router)
    found = APIRouter(include_in_schema=False)
    found.include_router(routes, prefix=PREFIX)
    found.include_router(profiler, prefix=PREFIX)
    if at_root:
        found.include_router(routes)
    return found
