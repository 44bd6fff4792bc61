"""Submitting and listening in one request: how the client profiles, and how older ones submit.

The client splits events at two line feeds and decodes each chunk of bytes by itself, so framing is
by line feeds, and data are one line of ASCII.
"""

import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress

from fastapi import APIRouter, Request, Response
from sse_starlette import EventSourceResponse, ServerSentEvent

from contract.errors import JobNotFound, QueueUnavailable
from contract.job import Job
from contract.problem import PROBLEMS
from contract.queue import JobQueue
from contract.verdict import Verdict
from service.compat.profile import PROFILES, report_of_profile, with_profile
from service.dependencies import Parts, parts_of
from service.popcorn.identity import Competitor
from service.popcorn.routes_submissions import submitted
from service.popcorn.views import result_of, runner_queue, status_of
from service.popcorn.words import failure_of, report_of

router = APIRouter()

QUIET_S = 10.0
"""A status is told again after it, so that proxies and people see that something lives."""
LINE_FEED = "\n"
ENDED = ""
NO_REPORT_FILE = (
    "There is no .ncu-rep: what there is stands above, and in the zip that is saved. "
    "For want of it your client exits with 1."
)


@router.post("/profile/{board}/{gpu}")
async def profile(board: str, gpu: str, request: Request, caller: Competitor) -> Response:
    """Accept a file to be profiled, and tell how it fares until it has ended."""
    parts = parts_of(request)
    job = await submitted(board, gpu, "profile", request, caller)
    return _streamed(parts, told_of(parts, job, aloud=True))


@router.post("/{board}/{gpu}/{mode}")
async def stream(board: str, gpu: str, mode: str, request: Request, caller: Competitor) -> Response:
    """Accept a file, and tell how it fares until it has ended."""
    parts = parts_of(request)
    job = await submitted(board, gpu, mode, request, caller)
    return _streamed(parts, told_of(parts, job))


def _streamed(parts: Parts, events: AsyncIterator[ServerSentEvent]) -> Response:
    return EventSourceResponse(
        events,
        sep=LINE_FEED,
        ping=parts.settings.ping_s,
        shutdown_grace_period=parts.settings.shutdown_s / 2,
    )


async def told_of(parts: Parts, job: Job, *, aloud: bool = False) -> AsyncIterator[ServerSentEvent]:
    """Yield what the client prints, up to how it ended, or why no more can be told.

    `aloud`: it saves a profile and shows nothing of it, so it hears the report before.
    """
    began, told, told_at = time.monotonic(), "", 0.0
    try:
        async for _ in parts.queue.events(job.id):
            status = await _status(parts.queue, job.id)
            if status == ENDED:
                break
            if parts.stopping.is_set():
                yield _error(f"the service stops; submission {job.number} goes on without you")
                return
            if status is None:
                continue  # whoever profiles has nowhere else to look, and waits with us
            now = time.monotonic()
            if status != told or now - told_at >= QUIET_S:
                told, told_at = status, now
                message = f"Submission {job.number} status: {status} ({now - began:.0f}s)"
                members = {"status": "processing", "elapsed_time": now - began, "message": message}
                yield _event("status", members)
        job = await parts.queue.get(job.id)
        if aloud and job.verdict is not None and failure_of(job) is None:
            yield _event("status", {"message": f"\n{_read_aloud(job, job.verdict)}"})
        yield await _last_event(parts.queue, job)
    except JobNotFound:
        yield _error(f"submission {job.number} was deleted")
    except QueueUnavailable:
        yield _error(f"the queue does not answer; submission {job.number} goes on without you")


async def _status(queue: JobQueue, job_id: str) -> str | None:
    """Return where a job is: `ENDED`, or in words; None while the queue does not answer."""
    with suppress(QueueUnavailable):
        job = await queue.get(job_id)
        return ENDED if job.state.ended else status_of(job, await runner_queue(queue, job))
    return None


def _read_aloud(job: Job, verdict: Verdict) -> str:
    report = report_of_profile(job, verdict)
    saved = verdict.profile is not None and "report" in verdict.profile.links
    return report if saved else f"{report}\n\n{NO_REPORT_FILE}"


async def _last_event(queue: JobQueue, job: Job) -> ServerSentEvent:
    failure = failure_of(job)
    if failure is not None or job.verdict is None:
        return _error(failure or f"submission {job.number} has not ended")
    if job.mode in PROFILES:
        report = report_of_profile(job, job.verdict)
    else:
        report = report_of(PROBLEMS[job.problem], job.verdict)
    result = (await with_profile(queue, job, result_of(job))).model_dump(mode="json")
    return _event("result", {"status": "success", "results": [result], "reports": [report]})


def _error(detail: str) -> ServerSentEvent:
    return _event("error", {"status": "error", "detail": detail})


def _event(name: str, data: Mapping[str, object]) -> ServerSentEvent:
    text = json.dumps(data, ensure_ascii=True, allow_nan=False)
    return ServerSentEvent(text, event=name, sep=LINE_FEED)
