"""A job: how far it is, and what was found."""

from collections.abc import Sequence

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from contract.job import Job, JobState, JobSummary
from contract.submission import Mode
from contract.verdict import CaseResult, ComparedCase, Verdict
from service.access import job_of
from service.dependencies import Operating, Queue, Reader, Submitter
from service.pages.comparing import decided, intervals_of
from service.pages.render import page
from service.pages.roofline import roofline_of
from service.pages.samples import Histograms, histograms, samples_of
from service.routes_jobs import Filters, jobs_seen
from service.routes_jobs import cancel as cancel_job
from service.routes_jobs import retry as retry_job
from service.views import Links, with_paths

router = APIRouter(prefix="/jobs", include_in_schema=False)
SOURCE_LINES = 2000
OTHERS = 30

_RUN = (("starting", "Starting a runner"), ("importing", "Importing"))
_STEPS = {
    Mode.COMPILE: (("starting", "Starting a compiler"), ("compiling", "Compiling")),
    Mode.TEST: (*_RUN, ("testing", "Testing")),
    Mode.PROFILE: (*_RUN, ("testing", "Testing"), ("profiling", "Profiling")),
}
_OTHER_STEPS = (*_RUN, ("testing benchmarking comparing profiling", "Testing and timing"))


@router.get("/{job_id}")
async def job(job_id: str, queue: Queue, operations: Operating, caller: Reader) -> Response:
    """Show a job as it is now."""
    found = await job_of(queue, job_id, caller)
    links = Links.of(found)
    verdict = found.verdict
    lines = await _source(queue, found)
    steps = (("queued", "Queued"), *_STEPS.get(found.mode, _OTHER_STEPS), ("", "Verdict"))
    cases = verdict.cases if verdict else ()
    compared = verdict.compared if verdict else None
    shares = [c.timing.fraction_of_speed_of_light for c in cases if c.timing]
    shares = [share for share in shares if share]
    queued = found.state is JobState.QUEUED
    others: Sequence[JobSummary] = ()
    if verdict:
        ended = Filters(state=JobState.FINISHED, limit=OTHERS)
        others, _ = await jobs_seen(queue, caller, ended)
    values = {
        "job": found.model_copy(update={"verdict": with_paths(verdict, links)}),
        "links": links,
        "steps": steps,
        "step": _step(found, steps),
        "estimated_start_s": (
            (await operations.figures()).estimated_start_s(found) if queued else None
        ),
        "timed": any(case.timing for case in cases),
        "slowest": min(shares, default=None),
        "fastest": max(shares, default=None),
        "roofline": roofline_of(verdict) if verdict else None,
        "samples": _samples(verdict) if verdict else None,
        "intervals": intervals_of(compared) if compared else None,
        "both": _both(verdict) if verdict else (),
        "decided": decided,
        "source": None if lines is None else lines[:SOURCE_LINES],
        "source_cut": lines is not None and len(lines) > SOURCE_LINES,
        "others": _likely_first(found, others),
    }
    return page("job.html", caller, values)


@router.post("/{job_id}/cancel")
async def cancel(job_id: str, queue: Queue, caller: Submitter) -> Response:
    """Cancel a job, and go back to it."""
    await cancel_job(job_id, queue, caller)
    return RedirectResponse(f"/jobs/{job_id}", 303)


@router.post("/{job_id}/retry")
async def retry(job_id: str, request: Request, caller: Submitter) -> Response:
    """Have a job judged again, and go back to it."""
    await retry_job(job_id, request, caller)
    return RedirectResponse(f"/jobs/{job_id}", 303)


async def _source(queue: Queue, job: Job) -> Sequence[str] | None:
    """Return the lines of the file, None for a built-in kernel."""
    source = None if job.sha256 is None else await queue.source(job.id)
    return None if source is None else source.decode(errors="replace").splitlines()


def _samples(verdict: Verdict) -> Histograms | None:
    """Return the picture of samples, of A and B back to back where there is a B."""
    if verdict.compared is None:
        return samples_of(verdict)
    sides = [(("A", a), ("B", case.b)) for a, case in _both(verdict)]
    return histograms("Samples of each case, A above and B below", sides)


def _both(verdict: Verdict) -> Sequence[tuple[CaseResult, ComparedCase]]:
    """Return the cases of a comparison: what was found of A, and the rest."""
    found = {case.index: case for case in verdict.cases}
    return (
        [(found[each.index], each) for each in verdict.compared.cases] if verdict.compared else []
    )


def _likely_first(job: Job, others: Sequence[JobSummary]) -> Sequence[JobSummary]:
    """Return the other jobs, first those that a comparison says most about."""
    found = [each for each in others if each.job.id != job.id]
    return sorted(found, key=lambda each: each.job.mode is not job.mode)


def _step(job: Job, steps: Sequence[tuple[str, str]]) -> int:
    """Return the index of the step that a job is at."""
    if job.state is JobState.QUEUED:
        return 0
    stage = job.progress.stage if job.progress else "starting"
    return next((at for at, (name, _) in enumerate(steps) if stage in name.split()), 1)
