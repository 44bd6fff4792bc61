"""The client's second profiler, `POPCORN_BREV_PROFILER_URL`: a job, and a zip to fetch.

Served under the prefix only; its paths are too common for the root.
"""

from fastapi import APIRouter, HTTPException, Request, Response

from contract.device import ANY
from contract.errors import InvalidSubmission
from service.access import job_of
from service.compat.profile import PROFILES, archive_of
from service.dependencies import Queue, parts_of
from service.form_body import read_form, the_file
from service.popcorn.identity import Competitor, Viewer
from service.popcorn.names import asked_for, board_named
from service.popcorn.options import narrowed
from service.popcorn.patience import Patient
from service.popcorn.views import Json, runner_queue, status_of
from service.popcorn.words import failure_of
from service.request_body import SentJob
from service.routes_submit import note_accepted

router = APIRouter(route_class=Patient)


@router.post("/profile", status_code=202)
async def profile(request: Request, caller: Competitor) -> Json:
    """Accept a file to be profiled."""
    parts = parts_of(request)
    files, texts = await read_form(request, parts.settings)
    file, told = the_file(files), dict(texts)
    board = told.get("leaderboard")
    if board is None:
        raise InvalidSubmission("leaderboard", "required")
    problem = await board_named(parts.queue, board)
    asked = await asked_for(parts.queue, problem, ANY, "profile", file.filename)
    sent = SentJob(narrowed(asked, problem, told), file.content)
    job = note_accepted(await parts.admission.admit(sent, caller), sent, parts.metrics)
    return {"job_id": job.id}


@router.get("/jobs/{job_id}")
async def show(job_id: str, queue: Queue, caller: Viewer) -> Json:
    """Tell how a profile fares, and where its zip is once it is there."""
    job = await job_of(queue, job_id, caller)
    right = job.verdict is not None and job.verdict.outcome == "passed"
    artifact = {"name": f"profile_{job.number}.zip", "url": f"/jobs/{job.id}/profile.zip"}
    return {
        "status": status_of(job, await runner_queue(queue, job)),
        "queue_position": job.position,
        "error": failure_of(job),
        "artifacts": [artifact] if right else [],
    }


@router.get("/jobs/{job_id}/profile.zip")
async def archive(job_id: str, queue: Queue, caller: Viewer) -> Response:
    """Fetch the zip of a profile."""
    job = await job_of(queue, job_id, caller)
    if job.verdict is None or job.mode not in PROFILES:
        raise HTTPException(404, f"job {job_id} has no profile")
    return Response(await archive_of(queue, job, job.verdict), media_type="application/zip")
