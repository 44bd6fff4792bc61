"""POST /v1/compat/run: a runner's job in, a runner's result out."""

import asyncio

from fastapi import APIRouter, HTTPException, Request, Response

from contract.queue import JobQueue
from service.compat.full_result import FullResult, full_result
from service.compat.profile import with_profile
from service.compat.run_request import RunRequest, asked_by
from service.dependencies import Submitter, parts_of
from service.openapi import json_body, problems
from service.request_body import max_items, read_members
from service.routes_submit import note_accepted
from service.views import json_response

router = APIRouter(tags=["compatibility"])


@router.post(
    "/v1/compat/run",
    response_model=FullResult,
    responses=problems(400, 404, 413, 415, 422, 429, 503),
    openapi_extra=json_body(RunRequest),
)
async def run(request: Request, caller: Submitter) -> Response:
    """Judge what another leaderboard has for its runners; answers when the job has ended."""
    parts = parts_of(request)
    given = RunRequest.of(await read_members(request, parts.settings))
    asked = asked_by(given, max_items(parts.settings))
    job = await parts.admission.admit(asked.sent, caller)
    note_accepted(job, asked.sent, parts.metrics)
    await end_of(parts.queue, job.id, parts.stopping)
    ended = await parts.queue.get(job.id)
    result = full_result(ended, asked.specs, asked.tests, given.ignored)
    return json_response(await with_profile(parts.queue, ended, result))


async def end_of(queue: JobQueue, job_id: str, stopping: asyncio.Event) -> None:
    """Return once a job has ended.

    Raises:
        HTTPException: 503, the service stops; the job goes on, and its id is in the message.

    """
    async for _ in queue.events(job_id):
        if stopping.is_set():
            raise HTTPException(503, f"the service stops; the job goes on: /v1/jobs/{job_id}")
