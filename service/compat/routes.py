"""POST /v1/compat/run: a runner's job in, a runner's result out."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from fastapi import APIRouter, HTTPException, Request, Response
from starlette.requests import ClientDisconnect

from contract.errors import QueueUnavailable
from contract.queue import JobQueue
from service.compat.full_result import FullResult, full_result
from service.compat.profile import with_profile
from service.compat.run_request import RunRequest, asked_by
from service.dependencies import parts_of
from service.openapi import json_body, problems
from service.request_body import max_items, read_members
from service.routes_submit import Key, Sender, note_accepted
from service.views import json_response

router = APIRouter(tags=["compatibility"])
log = logging.getLogger(__name__)

Gone = Callable[[], Awaitable[bool]]
"""Tells whether the client went away."""


@router.post(
    "/v1/compat/run",
    response_model=FullResult,
    responses=problems(400, 404, 409, 413, 415, 422, 429, 503),
    openapi_extra=json_body(RunRequest),
)
async def run(request: Request, caller: Sender, key: Key = None) -> Response:
    """Judge what another leaderboard has for its runners; answers when the job has ended.

    A client that goes away cancels the job, unless it sent a key to come back with.
    """
    parts = parts_of(request)
    given = RunRequest.of(await read_members(request, parts.settings))
    asked = asked_by(given, max_items(parts.settings))
    job = await parts.admission.admit(asked.sent, caller, key)
    note_accepted(job, asked.sent, parts.metrics)
    await end_of(parts.queue, job.id, parts.stopping, None if key else request.is_disconnected)
    ended = await parts.queue.get(job.id)
    result = full_result(ended, asked.specs, asked.tests, given.ignored)
    return json_response(await with_profile(parts.queue, ended, result))


async def end_of(
    queue: JobQueue, job_id: str, stopping: asyncio.Event, gone: Gone | None = None
) -> None:
    """Return once a job has ended; cancel it where nobody is there any more to be told.

    Raises:
        HTTPException: 503, the service stops; the job goes on, and its id is in the message.
        ClientDisconnect: the client went away, which is looked at about every second.

    """
    async for _ in queue.events(job_id):
        if stopping.is_set():
            raise HTTPException(503, f"the service stops; the job goes on: /v1/jobs/{job_id}")
        if gone is not None and await gone():
            with suppress(QueueUnavailable):  # the next look tries again
                await queue.cancel(job_id)
                log.info("job cancelled: the client went away", extra={"job": job_id})
                raise ClientDisconnect
