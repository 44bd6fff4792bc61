"""Boards, devices, registering and joining."""

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from contract.errors import NotAuthenticated
from contract.invites import Invites
from contract.keys import draw_token
from contract.leaderboard import Leaderboards
from service.dependencies import Queue
from service.popcorn.identity import CLI_ID, Viewer, who_asks
from service.popcorn.names import board_named, devices_of, shown_boards
from service.popcorn.views import Json, board_view
from service.small_bodies import SmallBodies

router = APIRouter(route_class=SmallBodies)


class Code(BaseModel):
    """What joining takes."""

    code: Annotated[str, Field(min_length=1, max_length=100)]


@router.get("/leaderboards")
async def leaderboards(queue: Queue, caller: Viewer) -> Sequence[Json]:
    """List the boards that are shown."""
    workers = await queue.workers()
    boards = await Leaderboards(queue.store).boards()
    to_come = {worker.device: None for worker in workers if worker.ranked and worker.serves}
    return [
        board_view(
            problem,
            devices_of(workers),
            to_come | {each.device: each.window for each in boards if each.problem == problem.name},
        )
        for problem in await shown_boards(queue)
    ]


@router.get("/gpus/{board}")
async def gpus(board: str, queue: Queue, caller: Viewer) -> Sequence[str]:
    """List the devices that a board has live workers for."""
    await board_named(queue, board)
    return devices_of(await queue.workers())


@router.get("/auth/init")
async def register(provider: Literal["discord", "github"]) -> Json:
    """Draw an id for the client to keep. It is kept nowhere, and opens nothing until it joins."""
    return {"state": draw_token()}


@router.post("/user/join")
async def join(request: Request, given: Code, queue: Queue) -> Json:
    """Make a key of the client's id by an invite, or note that a key holder came by it."""
    invites = Invites(queue.store)
    try:
        caller = await who_asks(request)
    except NotAuthenticated:
        invite = await invites.join(given.code, request.headers.get(CLI_ID, ""))
    else:
        invite = await invites.claim(given.code, caller.owner)
    return {
        "status": "ok",
        "leaderboards": invite.leaderboards,
        "user_name": invite.user_name,
    }
