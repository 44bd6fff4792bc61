"""Jobs as the client reads them: a submission, and an item of a list."""

from collections.abc import Mapping, Sequence

from contract.archive import Archive
from contract.device import line_of
from contract.job import Job, JobSummary
from contract.problem import PROBLEMS, Problem
from contract.queue import JobQueue
from contract.windows import Window
from service.compat.cases import spec_of
from service.compat.full_result import FullResult, full_result
from service.popcorn.runs import runs_of, seconds, time_text
from service.popcorn.words import failure_of, standing_of

Json = Mapping[str, object]
AVAILABLE = "available"
LISTED = "%Y-%m-%d %H:%M:%S"
"""A moment in UTC, in the 19 characters that a list of the client has room for."""


async def runner_queue(queue: JobQueue, job: Job) -> Json | None:
    """Return how the line of a job is; None once it has ended."""
    if job.state.ended:
        return None
    line, depth = line_of(job.device, job.mode), await queue.depth()
    able = sum(line in worker.lines for worker in await queue.workers())
    return {
        "runner": "halfbyte",
        "gpu": job.device,
        "queued_jobs": depth.get(job.device, 0),
        "available_runners": able,
        "status": AVAILABLE if able else "unavailable",
        "error": None,
    }


async def submission_view(queue: JobQueue, job: Job) -> Json:
    """Return a submission as it is polled and shown. Its status and `done` are of one moment."""
    source = await queue.source(job.id) or b""
    line = await runner_queue(queue, job)
    return {
        "id": job.number,
        "leaderboard_id": _board_id(job.problem),
        "leaderboard_name": job.problem,
        "file_name": _file_name(job),
        "user_id": job.owner,
        "submission_time": time_text(job.created_at),
        "done": job.state.ended,
        "code": source.decode("utf-8", "replace"),
        "runs": runs_of(job, await Archive(queue.store).called(job.id) or job.device),
        "job": {"status": status_of(job, line), "error": failure_of(job)},
        "runner_queue": line,
    }


def list_item(each: JobSummary) -> Json:
    """Return a submission of a list."""
    job, headline = each.job, each.headline
    score = None if headline is None else seconds(headline.geomean_us)
    return {
        "id": job.number,
        "leaderboard_name": job.problem,
        "file_name": _file_name(job),
        "submission_time": f"{job.created_at:{LISTED}}",
        "done": job.state.ended,
        "runs": [{"gpu_type": job.device, "score": score}],
    }


def board_view(
    problem: Problem, devices: Sequence[str], boards: Mapping[str, Window | None]
) -> Json:
    """Return a leaderboard: no seeds, which would give away what ranked runs depend on.

    It stands for the boards of all devices, by whose windows it is shown. The client prints what
    the description says of each; the deadline is the last of theirs, where each has one.
    """
    ends = [window.closes_at for window in boards.values() if window and window.closes_at]
    last = max(ends) if ends and len(ends) == len(boards) else None
    told = [
        f"On {device} mode leaderboard is open {window or 'at any time'}."
        for device, window in sorted(boards.items())
        if any(boards.values())
    ]
    about = f"{problem.title}: {problem.equation}\n{problem.description}"
    return {
        "id": _board_id(problem.name),
        "name": problem.name,
        "deadline": None if last is None else time_text(last),
        "description": "\n".join((about, *told)),
        "gpu_types": devices,
        "visibility": "public",
        "task": {
            "lang": "py",
            "tests": [spec_of(problem, case) for case in problem.tests],
            "benchmarks": [spec_of(problem, case) for case in problem.benchmarks],
            "ranking_by": "geom",
        },
    }


def result_of(job: Job) -> FullResult:
    """Return the result of a job that has ended, as runners give it."""
    problem, cases = PROBLEMS[job.problem], () if job.verdict is None else job.verdict.cases
    return full_result(job, [spec_of(problem, case) for case in cases], len(problem.tests))


def status_of(job: Job, line: Json | None) -> str:
    """Return the word for how a job ended, or where it is, with its line at that moment."""
    if line is not None:
        return standing_of(job, served=line["status"] == AVAILABLE)
    outcome = None if job.verdict is None else job.verdict.outcome
    return {"passed": "succeeded", "timed_out": "timed_out"}.get(outcome or "", "failed")


def _board_id(name: str) -> int:
    return 1 + list(PROBLEMS).index(name)


def _file_name(job: Job) -> str:
    return job.filename or f"built-in {job.kernel}"
