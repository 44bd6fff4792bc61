"""What an application has to take on to have pages."""

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from service.pages.about import router as about
from service.pages.compare import router as compare
from service.pages.difference_finder import Differences
from service.pages.home import router as home
from service.pages.job import router as job
from service.pages.leaderboard import router as leaderboard
from service.pages.pictures import router as pictures
from service.pages.render import STATIC
from service.pages.sign_in import router as sign_in


def add_pages(app: FastAPI) -> None:
    """Add the pages, and the files they load."""
    app.state.differences = Differences()
    for router in (home, job, compare, leaderboard, about, sign_in, pictures):
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC))
