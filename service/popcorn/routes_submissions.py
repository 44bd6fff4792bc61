"""Submitting a file, and looking at, listing and deleting what was submitted."""

import logging
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request

from contract.archive import Archive
from contract.job import Job, JobSummary
from contract.keys import Role
from contract.queue import JobQueue
from contract.results import Results
from service.access import Caller, job_of
from service.dependencies import Queue, parts_of
from service.form_body import read_form, the_file
from service.popcorn.identity import Competitor, Viewer
from service.popcorn.names import ALIASES, asked_for, board_named
from service.popcorn.options import narrowed
from service.popcorn.patience import Patient
from service.popcorn.views import Json, list_item, runner_queue, submission_view
from service.request_body import SentJob
from service.routes_submit import note_accepted

router = APIRouter(route_class=Patient)
log = logging.getLogger(__name__)

MAX_LISTED = 100
PAGES = 20
"""Pages looked through for the submissions of one board."""


@router.post("/submission/{board}/{gpu}/{mode}", status_code=202)
async def submit(board: str, gpu: str, mode: str, request: Request, caller: Competitor) -> Json:
    """Accept a file, and say under which number it is looked at."""
    job = await submitted(board, gpu, mode, request, caller)
    return {
        "status": "accepted",
        "details": {"id": job.number, "job_status_id": job.number},
        "runner_queue": await runner_queue(parts_of(request).queue, job),
    }


async def submitted(board: str, gpu: str, mode: str, request: Request, caller: Caller) -> Job:
    """Put the file of a form into the queue, as the path of its request says."""
    parts = parts_of(request)
    problem = await board_named(parts.queue, board)
    files, texts = await read_form(request, parts.settings)
    file = the_file(files)
    asked = await asked_for(parts.queue, problem, gpu, mode, file.filename)
    sent = SentJob(narrowed(asked, problem, dict(texts)), file.content)
    job = note_accepted(await parts.admission.admit(sent, caller), sent, parts.metrics)
    if gpu.lower() in ALIASES:
        await Archive(parts.queue.store).call(job.id, gpu)
    return job


@router.get("/user/submissions/{number}")
async def show(number: int, queue: Queue, caller: Viewer) -> Json:
    """Look at a submission."""
    return await submission_view(queue, await numbered(queue, number, caller))


@router.get("/user/submissions")
async def submissions(
    queue: Queue,
    caller: Viewer,
    leaderboard: str | None = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LISTED)] = 50,
) -> Sequence[Json]:
    """List the caller's own submissions, the newest first."""
    problem = None if leaderboard is None else await board_named(queue, leaderboard)
    found: list[JobSummary] = []
    cursor = None
    for _ in range(PAGES):
        page, cursor = await queue.list(owner=caller.owner, cursor=cursor, limit=MAX_LISTED)
        found += [each for each in page if problem is None or each.job.problem == problem.name]
        if cursor is None or len(found) >= limit:
            break
    return [list_item(each) for each in found[:limit]]


@router.delete("/user/submissions/{number}")
async def delete(number: int, queue: Queue, caller: Competitor) -> Json:
    """Forget a submission, its result on a leaderboard too."""
    job = await numbered(queue, number, caller)
    await forget(queue, job, caller)
    return {"status": "ok", "submission_id": number}


async def numbered(queue: JobQueue, number: int, caller: Caller) -> Job:
    """Return a job by its number, where the caller may see it.

    Raises:
        JobNotFound: there is none, or it is somebody else's: no answer tells these apart.

    """
    return await job_of(queue, await Archive(queue.store).numbered(number), caller)


async def forget(queue: JobQueue, job: Job, caller: Caller) -> None:
    """Forget a job for good, first what a leaderboard has of it.

    It is cancelled before: one that finished between the two would stay on the board. What an admin
    disqualified stays in the history, unless an admin deletes it.
    """
    await queue.cancel(job.id)
    results = Results(queue.store)
    unranked = results.delete if caller.role is Role.ADMIN else results.withdraw
    await unranked(job.id, "the submission was deleted", caller.owner)
    await Archive(queue.store).forget(job.id)
    log.info("submission deleted", extra={"job": job.id, "number": job.number, "by": caller.owner})
