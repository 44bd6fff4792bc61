"""Leaderboards: who stands where, an owner's history, a whole board for a spreadsheet."""

import csv
import io
from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from contract.device import ANY, device_named
from contract.errors import InvalidSubmission
from contract.leaderboard import Board, Entry, Leaderboards
from contract.results import HistoryResult, Results
from contract.submission import problem_named
from contract.windows import Window
from service.dependencies import Queue, Reader
from service.openapi import problems
from service.views import json_response

router = APIRouter(prefix="/v1/leaderboards", tags=["leaderboards"])
CSV = "text/csv; charset=utf-8"
_FROZEN = ConfigDict(frozen=True, use_attribute_docstrings=True)
_ASKED = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class LeaderboardList(BaseModel):
    """The boards that anybody stands on, or that have a window."""

    model_config = _FROZEN

    leaderboards: tuple[Board, ...]


class Leaderboard(BaseModel):
    """A page of a board, the best first."""

    model_config = _FROZEN

    entries: tuple[Entry, ...]
    next_cursor: str | None
    """What `cursor` has to be for the next page; null at the end."""
    window: Window | None = Field(default=None, exclude_if=lambda window: window is None)
    """When it takes ranked jobs, by when they are sent; left out where it always does."""


class History(BaseModel):
    """A page of an owner's results, the newest first."""

    model_config = _FROZEN

    results: tuple[HistoryResult, ...]
    next_cursor: str | None
    """As of a board."""


class WhichBoard(BaseModel):
    """Which board of a problem."""

    model_config = _ASKED

    device: str | None = Field(None, max_length=64)
    """May be left out where there is one board."""


class BoardPage(WhichBoard):
    """Which page of a board."""

    limit: int = Field(50, ge=1, le=200)
    cursor: str | None = Field(None, max_length=100)


class HistoryPage(BoardPage):
    """Which page of whose history."""

    owner: str | None = Field(None, max_length=200)
    """The caller where it is not given."""


class WholeBoard(WhichBoard):
    """A board as a file."""

    format: Literal["csv", "json"] = "csv"


@router.get("", response_model=LeaderboardList, responses=problems(503))
async def leaderboards(queue: Queue, caller: Reader) -> Response:
    """List the boards, one a problem and device."""
    boards = await Leaderboards(queue.store).boards()
    return json_response(LeaderboardList(leaderboards=tuple(boards)))


@router.get("/{problem}", response_model=Leaderboard, responses=problems(404, 422, 503))
async def leaderboard(
    problem: str, queue: Queue, caller: Reader, asked: Annotated[BoardPage, Query()]
) -> Response:
    """Show a board: of each owner the best ranked score, of equal ones the earlier first."""
    boards = Leaderboards(queue.store)
    device, window = await _board(boards, problem, asked.device)
    entries, cursor = await boards.page(problem, device, asked.limit, asked.cursor)
    return json_response(Leaderboard(entries=tuple(entries), next_cursor=cursor, window=window))


@router.get("/{problem}/history", response_model=History, responses=problems(404, 422, 503))
async def history(
    problem: str, queue: Queue, caller: Reader, asked: Annotated[HistoryPage, Query()]
) -> Response:
    """Show the ranked results of one owner on a board, disqualified ones with the reason."""
    device, _ = await _board(Leaderboards(queue.store), problem, asked.device)
    results, cursor = await Results(queue.store).history(
        problem, device, asked.owner or caller.owner, asked.limit, asked.cursor
    )
    return json_response(History(results=tuple(results), next_cursor=cursor))


@router.get(
    "/{problem}/export",
    response_class=Response,
    responses={
        200: {
            "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/Leaderboard"}},
                "text/csv": {"schema": {"type": "string"}},
            }
        },
        **problems(404, 422, 503),
    },
)
async def export(
    problem: str, queue: Queue, caller: Reader, asked: Annotated[WholeBoard, Query()]
) -> Response:
    """Give a whole board as of one moment, scores in all their digits."""
    boards = Leaderboards(queue.store)
    device, window = await _board(boards, problem, asked.device)
    entries, _ = await boards.page(problem, device)
    if asked.format == "json":
        whole = Leaderboard(entries=tuple(entries), next_cursor=None, window=window)
        return json_response(whole)
    text = _csv(entries, window or Window())
    disposition = f'attachment; filename="{problem}-{device}.csv"'
    return Response(text, headers={"Content-Disposition": disposition}, media_type=CSV)


def known_problem(name: str) -> None:
    """Refuse a path with a problem that is not there.

    Raises:
        HTTPException: 404; the message lists those there are.

    """
    try:
        problem_named(name)
    except InvalidSubmission as error:
        raise HTTPException(404, error.message) from None


async def _board(
    boards: Leaderboards, problem: str, asked: str | None
) -> tuple[str, Window | None]:
    """Return the device of the board that is asked for, `any` where there is none, and its window.

    Raises:
        HTTPException: 404, there is no such problem.
        InvalidSubmission: there is no such device, or none is named and there are several boards.

    """
    known_problem(problem)
    known = {each.device: each.window for each in await boards.boards() if each.problem == problem}
    device = ANY if asked is None else device_named(asked, known)
    if device == ANY and len(known) > 1:
        raise InvalidSubmission("device", f"name one; there are boards of {', '.join(known)}")
    if device == ANY and known:
        device, *_ = known
    return device, known.get(device)


def _csv(entries: Sequence[Entry], window: Window) -> str:
    text = io.StringIO()
    names = (
        *("rank", "owner", "geomean_us", "job", "created_at", "finished_at", "problem", "device"),
        *("job_number", "opens_at", "closes_at"),
    )
    table = csv.DictWriter(text, names)
    table.writeheader()
    bounds = window.model_dump(mode="json")
    table.writerows(entry.model_dump(mode="json") | bounds for entry in entries)
    return text.getvalue()
