"""For organisers, with a key of role admin: the intake, any submission, boards, invites."""

from pathlib import PurePosixPath
from typing import Annotated

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, Field

from contract.contest import Contest
from contract.invites import Invites
from contract.operations import Figures
from contract.problem import PROBLEMS
from service.dependencies import Administrator, Operating, Queue
from service.openapi import VERSION
from service.popcorn.routes_submissions import forget, numbered
from service.popcorn.views import Json, submission_view
from service.small_bodies import SmallBodies

router = APIRouter(prefix="/admin", route_class=SmallBodies)


class Folder(BaseModel):
    """Where the client believes a problem to lie."""

    directory: Annotated[str, Field(max_length=1000)]


class NewInvites(BaseModel):
    """How many invites, and to which boards."""

    leaderboards: Annotated[tuple[str, ...], Field(min_length=1, max_length=64)]
    count: Annotated[int, Field(ge=1, le=10_000)]


@router.post("/start")
async def start(queue: Queue, caller: Administrator) -> Json:
    """Accept jobs again."""
    await Contest(queue.store).accept(True)
    return {"status": "ok", "accepts_jobs": True}


@router.post("/stop")
async def stop(queue: Queue, caller: Administrator) -> Json:
    """Accept no more jobs, by whatever road; those that were accepted run on."""
    await Contest(queue.store).accept(False)
    return {"status": "ok", "accepts_jobs": False}


@router.get("/stats")
async def stats(operations: Operating, caller: Administrator) -> Json:
    """Give figures. They count from the making of the queue, whichever days are asked for."""
    return {"status": "ok", "stats": _stats_of(await operations.figures())}


@router.get("/submissions/{number}")
async def show(number: int, queue: Queue, caller: Administrator) -> Json:
    """Look at anybody's submission."""
    job = await numbered(queue, number, caller)
    return {"status": "ok", "submission": await submission_view(queue, job)}


@router.delete("/submissions/{number}")
async def delete(number: int, queue: Queue, caller: Administrator) -> Json:
    """Forget anybody's submission, its result on a leaderboard too."""
    await forget(queue, await numbered(queue, number, caller), caller)
    return {"status": "ok", "submission_id": number}


@router.post("/leaderboards")
async def show_board(given: Folder, queue: Queue, caller: Administrator) -> Json:
    """Show the board of a problem, which a folder of its name stands for."""
    name = _known(PurePosixPath(given.directory).name.lower())
    await Contest(queue.store).show(name, True)
    return {"status": "ok", "leaderboard": name}


@router.delete("/leaderboards/{name}")
async def hide_board(name: str, queue: Queue, caller: Administrator, force: bool = False) -> Json:
    """Hide the board of a problem. Results stay, so there is nothing to force."""
    await Contest(queue.store).show(_known(name.lower()), False)
    return {"status": "ok", "leaderboard": name, "force": force}


@router.post("/invites")
async def invite(given: NewInvites, queue: Queue, caller: Administrator) -> Json:
    """Make invites."""
    boards = [_known(name.lower()) for name in given.leaderboards]
    codes = await Invites(queue.store).make(boards, given.count)
    return {"status": "ok", "leaderboards": boards, "codes": codes}


@router.get("/leaderboards/{name}/invites")
async def invites(name: str, queue: Queue, caller: Administrator) -> Json:
    """List the invites to a board."""
    board = _known(name.lower())
    found = await Invites(queue.store).list()
    return {
        "status": "ok",
        "invites": [
            {
                "code": each.code,
                "user_id": each.user_name,
                "user_name": each.user_name,
                "claimed_at": each.claimed_at,
                "created_at": each.created_at,
            }
            for each in found
            if board in each.leaderboards
        ],
    }


@router.delete("/invites/{code}")
async def revoke(code: str, queue: Queue, caller: Administrator) -> Json:
    """Forget an invite; who joined with it stays."""
    found = await Invites(queue.store).revoke(code)
    if found is None:
        raise HTTPException(404, "there is no such invite")
    return {"status": "ok", "code": code, "was_claimed": found.user_name is not None}


@router.post("/update-problems")
async def update_problems(caller: Administrator) -> Json:
    """Say that problems come with the program: nothing is fetched from anywhere."""
    reason = f"comes with halfbyte {VERSION}; a newer version brings newer ones"
    skipped = [{"name": name, "reason": reason} for name in PROBLEMS]
    return {"status": "ok", "created": [], "updated": [], "skipped": skipped, "errors": []}


def _known(name: str) -> str:
    """Return the name of a problem.

    Raises:
        HTTPException: 404, there is none; the message lists those there are.

    """
    if name not in PROBLEMS:
        raise HTTPException(404, f"there is no problem {name!r}; there are: {', '.join(PROBLEMS)}")
    return name


def _stats_of(figures: Figures) -> Json:
    return {
        "counted_since": "the queue was made",
        "submissions": figures.submitted,
        "waiting": sum(line.waiting for line in figures.lines),
        "running": figures.running,
        "verdicts": figures.counted("verdict"),
        "failed": figures.counted("failed"),
        "workers": [
            {"runner": worker.id, "gpu": worker.device, "state": worker.state}
            for worker, _ in figures.workers
        ],
    }
