"""Leaderboards and the history of an owner, as pages."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from contract.leaderboard import Board, Entry, Leaderboards
from contract.results import HistoryResult, Results
from service.dependencies import Queue, Reader
from service.pages.history import history_of
from service.pages.render import page

router = APIRouter(include_in_schema=False)
ENTRIES, RESULTS = 100, 200


class Asked(BaseModel):
    """Which board, which part of it, and whose history."""

    model_config = ConfigDict(extra="forbid")

    problem: str | None = Field(None, max_length=100)
    device: str | None = Field(None, max_length=64)
    owner: str | None = Field(None, max_length=200)
    cursor: str | None = Field(None, max_length=100)


@router.get("/leaderboard")
async def leaderboard(queue: Queue, caller: Reader, asked: Annotated[Asked, Query()]) -> Response:
    """Show a board, the first one where none is named, and the history of an owner on it."""
    boards = Leaderboards(queue.store)
    known = await boards.boards()
    board = next((each for each in known if _fits(each, asked)), None)
    entries: Sequence[Entry] = ()
    results: Sequence[HistoryResult] = ()
    following = None
    if board is not None:
        name = board.problem, board.device
        if asked.owner is None:
            entries, following = await boards.page(*name, ENTRIES, asked.cursor)
        else:
            mine = Results(queue.store).history
            results, following = await mine(*name, asked.owner, RESULTS, asked.cursor)
    return page(
        "leaderboard.html",
        caller,
        {
            "boards": known,
            "board": board,
            "owner": asked.owner,
            "entries": entries,
            "results": results,
            "next_cursor": following,
            "history": history_of(results),
        },
    )


def _fits(board: Board, asked: Asked) -> bool:
    named = asked.problem in (None, board.problem)
    return named and asked.device in (None, board.device)
