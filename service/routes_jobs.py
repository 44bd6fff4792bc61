"""Jobs after they were accepted: look, wait, list, listen, cancel, retry."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sse_starlette import EventSourceResponse, ServerSentEvent

from contract.deliveries import Deliveries, DeliveryLog
from contract.device import device_named
from contract.errors import JobNotFound
from contract.job import JobState, JobSummary
from contract.keys import Role
from contract.queue import JobQueue
from contract.submission import Mode
from service.access import Caller, job_of, look_of
from service.dependencies import (
    Parts,
    Queue,
    Reader,
    Settings,
    Stopping,
    Submitter,
    caller_of,
    parts_of,
)
from service.openapi import problems, reads_by_itself
from service.views import (
    JobList,
    JobView,
    job_list,
    job_response,
    json_response,
    look_json,
)

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])
log = logging.getLogger(__name__)

MAX_WAIT_S = 60
EVENT = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "event": {"enum": ["state", "progress"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["id", "event", "data"],
}
"""One event: a new state as `{"state": ...}`, or progress as in a job."""


class Watch(BaseModel):
    """How to look at a job."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    wait: float = Field(default=0, ge=0, le=MAX_WAIT_S, allow_inf_nan=False)
    """Seconds to wait for the end of the job."""
    samples: bool = False
    """Whether timings carry their raw samples."""


AT_ONCE = Watch()


class Filters(BaseModel):
    """Which jobs to list."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    state: JobState | None = None
    mode: Mode | None = None
    device: str | None = Field(default=None, max_length=64)
    """What was asked for."""
    owner: str | None = Field(default=None, max_length=200)
    limit: int = Field(default=50, ge=1, le=200)
    cursor: str | None = Field(default=None, pattern="^[0-9]{1,15}$")


@router.get(
    "/{job_id}",
    response_model=JobView,
    responses=problems(404, 422, 503),
    openapi_extra=reads_by_itself(Watch),
)
async def job(request: Request, job_id: str) -> Response:
    """Look at a job, at once or when it has ended."""
    # No dependencies: this is what is asked the most, and they would take half as long again.
    caller = await caller_of(request, Role.READ)
    watch = _watch_of(request)
    parts = parts_of(request)
    look = await look_of(parts.looks, job_id, caller)
    if watch.wait and not look.job.state.ended:
        await _end_of(parts, job_id, watch.wait)
        look = await look_of(parts.looks, job_id, caller)
    state = look.job.state
    if state is JobState.FINISHED and (watch.samples or look.verdict is None):
        job = await parts.queue.get(job_id)
        return job_response(job, samples=watch.samples, review=caller.reviews)
    queued = state is JobState.QUEUED
    figures = await parts.operations.figures() if queued else None
    body = look_json(look, review=caller.reviews, figures=figures)
    return Response(body, media_type="application/json")


def _watch_of(request: Request) -> Watch:
    if not request.scope["query_string"]:
        return AT_ONCE
    try:
        return Watch.model_validate(dict(request.query_params))
    except ValidationError as error:
        details = [{**each, "loc": ("query", *each["loc"])} for each in error.errors()]
        raise RequestValidationError(details) from None


async def _end_of(parts: Parts, job_id: str, wait_s: float) -> None:
    """Return once the job has ended, the time is up or the service stops."""
    ended = asyncio.create_task(parts.queue.wait(job_id, wait_s))
    stopped = asyncio.create_task(parts.stopping.wait())
    try:
        await asyncio.wait((ended, stopped), return_when=asyncio.FIRST_COMPLETED)
        if ended.done():
            await ended
    finally:
        ended.cancel()
        stopped.cancel()


@router.get("", response_model=JobList, responses=problems(422, 503))
async def jobs(queue: Queue, caller: Reader, filters: Annotated[Filters, Query()]) -> Response:
    """List jobs, the newest first; one's own, or everybody's for an admin."""
    page, cursor = await jobs_seen(queue, caller, filters)
    return json_response(job_list(page, cursor))


async def jobs_seen(
    queue: JobQueue, caller: Caller, filters: Filters
) -> tuple[Sequence[JobSummary], str | None]:
    """Return the jobs that a caller may see, and the cursor of the next page.

    Raises:
        InvalidSubmission: there is no such device.

    """
    if filters.device is not None:
        workers = await queue.workers()
        served = (name for each in workers for name in each.serves)
        filters.device = device_named(filters.device, served)
    owner = filters.owner
    if owner is None and caller.role is not Role.ADMIN:
        owner = caller.owner
    if owner is not None and not caller.sees(owner):
        return (), None
    return await queue.list(**dict(filters) | {"owner": owner})


@router.delete("/{job_id}", response_model=JobView, responses=problems(404, 503))
async def cancel(job_id: str, queue: Queue, caller: Submitter) -> Response:
    """Cancel a queued or running job; one that has ended stays as it is."""
    await job_of(queue, job_id, caller)
    cancelled = await queue.cancel(job_id)
    log.info(
        "job cancel asked", extra={"job": job_id, "by": caller.owner, "state": cancelled.state}
    )
    return job_response(cancelled, review=caller.reviews)


@router.post(
    "/{job_id}/retry",
    status_code=202,
    response_model=JobView,
    responses=problems(404, 409, 429, 503),
)
async def retry(job_id: str, request: Request, caller: Submitter) -> Response:
    """Have a job that failed by a fault of ours judged again, as of when it was sent."""
    parts = parts_of(request)
    job = await job_of(parts.queue, job_id, caller)
    retried = await parts.admission.retry(job, caller)
    log.info("job retried", extra={"job": job_id, "by": caller.owner})
    return job_response(retried, 202, figures=await parts.operations.figures())


@router.get(
    "/{job_id}/events",
    response_class=EventSourceResponse,
    responses={
        200: {"content": {"text/event-stream": {"schema": EVENT}}},
        **problems(404, 503),
    },
)
async def events(
    job_id: str,
    queue: Queue,
    caller: Reader,
    settings: Settings,
    stopping: Stopping,
    after: Annotated[str | None, Header(alias="Last-Event-ID")] = None,
) -> Response:
    """Listen to states and progress until the job has ended. Resumes after `Last-Event-ID`."""
    await job_of(queue, job_id, caller)
    return EventSourceResponse(
        _sent_events(queue, job_id, after, stopping),
        ping=settings.ping_s,
        shutdown_grace_period=settings.shutdown_s / 2,
    )


async def _sent_events(
    queue: JobQueue, job_id: str, after: str | None, stopping: asyncio.Event
) -> AsyncIterator[ServerSentEvent]:
    """Yield events until the job has ended or is forgotten, or the service stops."""
    try:
        async for event in queue.events(job_id, after):
            if event is not None:
                data = json.dumps(event.data, allow_nan=False)
                yield ServerSentEvent(data, event=event.type, id=event.id)
            if stopping.is_set():
                return
    except JobNotFound:
        return


@router.get("/{job_id}/deliveries", response_model=DeliveryLog, responses=problems(404, 503))
async def deliveries(job_id: str, queue: Queue, caller: Reader) -> Response:
    """Tell the attempts at the callback of a job."""
    await job_of(queue, job_id, caller)
    return json_response(await Deliveries(queue.store).log(job_id))
