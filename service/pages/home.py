"""The first page: a form to submit, the queue, workers, and one's jobs."""

import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from contract.device import DEVICES
from contract.errors import InvalidSubmission, OutsideWindow, QuotaExceeded
from contract.problem import PROBLEMS
from contract.submission import Mode
from service.access import Caller
from service.dependencies import Parts, Reader, Submitter, parts_of
from service.field_errors import fields_in
from service.pages.forms import SentForm, submission_form
from service.pages.render import page
from service.routes_jobs import Filters, jobs_seen
from service.routes_submit import note_accepted
from service.service_views import queue_view

router = APIRouter(include_in_schema=False)
JOBS = 20
_FIELDS = ("file", "kernel", "problem", "m", "n", "k", "l", "mode", "device")
_SHOWN_AS = {"source": "file", "filename": "file"}

Cursor = Annotated[str | None, Query(pattern="^[0-9]{1,15}$")]
Options = Sequence[tuple[str, str]]
NotTaken = InvalidSubmission | OutsideWindow | QuotaExceeded
"""What the form is shown again for, as it was filled in."""


@router.get("/")
async def home(request: Request, caller: Reader, cursor: Cursor = None) -> Response:
    """Show the form, the queue and jobs, the newest first."""
    return await _home(parts_of(request), caller, cursor=cursor)


@router.get("/jobs")
async def jobs() -> Response:
    """Lead to the first page who reloads a form that was refused, or guesses the address."""
    return RedirectResponse("/", 303)


@router.post("/jobs")
async def submit(request: Request, caller: Submitter) -> Response:
    """Submit what was filled in, and go to the job; or show the form with what is wrong."""
    parts = parts_of(request)
    form = await submission_form(request, parts.settings)
    try:
        sent = form.job()
        key = form.once and f"{form.once}-{sent.request.digest(sent.source)}"
        job = await parts.admission.admit(sent, caller, key)
    except (InvalidSubmission, OutsideWindow, QuotaExceeded) as error:
        return await _home(parts, caller, form, error)
    note_accepted(job, sent, parts.metrics)
    return RedirectResponse(f"/jobs/{job.id}", 303)


async def _home(
    parts: Parts,
    caller: Caller,
    form: SentForm | None = None,
    error: NotTaken | None = None,
    cursor: str | None = None,
) -> Response:
    figures = await parts.operations.figures()
    asked = Filters(limit=JOBS, cursor=cursor)
    jobs, following = await jobs_seen(parts.queue, caller, asked)
    workers = [worker for worker, _ in figures.workers]
    values = {
        "queue": queue_view(figures),
        "workers": workers,
        "jobs": jobs,
        "cursor": cursor,
        "next_cursor": following,
        "once": secrets.token_hex(16),
        "sent": form.texts if form else {},
        "errors": _errors(error) if error else {},
        "kernels": _plain(*(name for each in PROBLEMS.values() for name in each.kernels)),
        "problems": _plain(*PROBLEMS),
        "modes": [("", "what fits"), *_plain(*(mode for mode in Mode if mode is not Mode.COMPARE))],
        "devices": _plain(*DEVICES, *(name for worker in workers for name in worker.serves)),
    }
    return page("home.html", caller, values, _status(error))


def _status(error: NotTaken | None) -> int:
    match error:
        case None:
            return 200
        case InvalidSubmission():
            return 422
        case OutsideWindow():
            return 409
        case QuotaExceeded():
            return 429


def _plain(*names: str) -> Options:
    return [(name, name) for name in dict.fromkeys(names)]


def _errors(error: NotTaken) -> Mapping[str, str]:
    """Return what is wrong by field of the form; by "" what belongs to none."""
    if not isinstance(error, InvalidSubmission):
        return {"": str(error)}
    named: dict[str, str] = {}
    for path, message in fields_in(error):
        field = _SHOWN_AS.get(path, re.split(r"[.\[]", path)[0])
        if field in _FIELDS:
            named.setdefault(field, message)
        else:
            named.setdefault("", f"{path}: {message}")
    return named
