"""For organisers: when a leaderboard takes ranked jobs."""

import logging
import re
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from contract.contest import Contest, Moved
from contract.device import ANY, CPU, device_named
from contract.errors import InvalidSubmission
from contract.queue import JobQueue
from contract.windows import BoardWindow
from service.access import Caller
from service.dependencies import Administrator, Queue, Reader
from service.openapi import problems
from service.problem_document import status_problem
from service.routes_leaderboards import known_problem
from service.small_bodies import SmallBodies
from service.views import json_response

router = APIRouter(prefix="/v1/leaderboards", tags=["leaderboards"], route_class=SmallBodies)
log = logging.getLogger(__name__)
NO_WINDOW = "this leaderboard has no window: it takes ranked jobs at any time"
_RFC_3339 = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", re.ASCII | re.IGNORECASE
)


def _moment(value: object) -> datetime | None:
    if value is None:
        return None
    if isinstance(value, str) and _RFC_3339.fullmatch(value):
        try:
            at = datetime.fromisoformat(value.upper()).astimezone(UTC)
            return at.replace(microsecond=at.microsecond // 1000 * 1000)  # as it is kept
        except (ValueError, OverflowError):
            pass
    raise ValueError("must be a time with its zone, as 2026-12-01T12:00:00Z")


Moment = Annotated[
    datetime | None,
    BeforeValidator(_moment),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]}),
]


class NewWindow(BaseModel):
    """When a board is to take ranked jobs, by when they are sent. One of the two at least."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    opens_at: Moment = None
    """From then on; always, where it is not given."""
    closes_at: Moment = None
    """The deadline: before, and not at it; never, where it is not given."""


class ChangedWindow(BoardWindow):
    """The window of a board as it was just set."""

    included: int
    """Results that count now and did not."""
    excluded: int
    """Results that count no more."""
    hint: str | None = None
    """What an organiser may not have meant: that it is over already; else null."""


class OneBoard(BaseModel):
    """Which board of a problem."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    device: str = Field(max_length=64)
    """A device that ranked jobs run on: `H200`, ..."""


@router.get("/{problem}/window", response_model=BoardWindow, responses=problems(404, 422, 503))
async def window(
    problem: str, queue: Queue, caller: Reader, asked: Annotated[OneBoard, Query()]
) -> Response:
    """Tell when a board takes ranked jobs."""
    device = await _device(queue, problem, asked)
    for each in await Contest(queue.store).windows():
        if (each.problem, each.device) == (problem, device):
            return json_response(each)
    return status_problem(404, NO_WINDOW)


@router.put(
    "/{problem}/window", response_model=ChangedWindow, responses=problems(400, 404, 413, 422, 503)
)
async def set_window(
    problem: str,
    given: NewWindow,
    queue: Queue,
    caller: Administrator,
    asked: Annotated[OneBoard, Query()],
) -> Response:
    """Set or change when a board takes ranked jobs. What was sent before counts by it too."""
    device = await _device(queue, problem, asked)
    if given.opens_at is None and given.closes_at is None:
        raise InvalidSubmission("closes_at", "give `opens_at`, `closes_at` or both")
    if given.opens_at and given.closes_at and given.opens_at >= given.closes_at:
        raise InvalidSubmission("closes_at", "must be after `opens_at`")
    window = BoardWindow(problem=problem, device=device, **given.model_dump())
    found, moved = await Contest(queue.store).set_window(window, caller.owner)
    _log("window set", caller, window, moved)
    over = found.closes_at is not None and found.closes_at <= datetime.now(UTC)
    hint = "it is over already: this board takes no ranked job now" if over else None
    return json_response(ChangedWindow(**dict(found), **moved._asdict(), hint=hint))


@router.delete("/{problem}/window", status_code=204, responses=problems(404, 422, 503))
async def unset_window(
    problem: str, queue: Queue, caller: Administrator, asked: Annotated[OneBoard, Query()]
) -> Response:
    """Have a board take ranked jobs at any time. What it kept out counts then."""
    device = await _device(queue, problem, asked)
    moved = await Contest(queue.store).unset_window(problem, device, caller.owner)
    if moved is None:
        return status_problem(404, NO_WINDOW)
    _log("window unset", caller, BoardWindow(problem=problem, device=device), moved)
    return Response(status_code=204)


def _log(what: str, caller: Caller, window: BoardWindow, moved: Moved) -> None:
    board = f"{window.problem} on {window.device}"
    log.info(what, extra={"by": caller.owner, "board": board, **moved._asdict()})


async def _device(queue: JobQueue, problem: str, asked: OneBoard) -> str:
    """Return the device of a board, which may have to come yet.

    Raises:
        HTTPException: 404, there is no such problem.
        InvalidSubmission: there is no such device, or none that a board is of.

    """
    known_problem(problem)
    workers = await queue.workers()
    device = device_named(asked.device, [each.device for each in workers])
    cards = sorted({each.device for each in workers if device in each.serves} - {CPU})
    if device in (ANY, CPU) or (cards and device not in cards):
        told = ", ".join(cards) or "H200, ..."
        raise InvalidSubmission("device", f"a board is of the card that ranked jobs run on: {told}")
    return device
