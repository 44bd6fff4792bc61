"""Jobs as the client reads them: a submission with its runs, and an item of a list."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from contract.contest import BoardWindow
from contract.device import line_of
from contract.job import Job, JobSummary
from contract.problem import PROBLEMS, Problem
from contract.queue import JobQueue
from contract.submission import Mode
from contract.verdict import Verdict
from service.compat.cases import spec_of
from service.compat.full_result import FullResult, full_result
from service.compat.phases import phases_of
from service.popcorn.words import failure_of, standing_of

Json = Mapping[str, object]
US_PER_S = 1_000_000
AVAILABLE = "available"


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
        "submission_time": _time(job.created_at),
        "done": job.state.ended,
        "code": source.decode("utf-8", "replace"),
        "runs": _runs_of(job),
        "job": {"status": status_of(job, line), "error": failure_of(job)},
        "runner_queue": line,
    }


def list_item(each: JobSummary) -> Json:
    """Return a submission of a list."""
    job, headline = each.job, each.headline
    score = None if headline is None else _seconds(headline.geomean_us)
    return {
        "id": job.number,
        "leaderboard_name": job.problem,
        "file_name": _file_name(job),
        "submission_time": _time(job.created_at),
        "done": job.state.ended,
        "runs": [{"gpu_type": job.device, "score": score}],
    }


def board_view(problem: Problem, devices: Sequence[str], windows: Sequence[BoardWindow]) -> Json:
    """Return a leaderboard: no seeds, which would give away what ranked runs depend on.

    It stands for the boards of all devices: its deadline is the last of theirs, and the client
    prints what the description says of each.
    """
    own = [window for window in windows if window.problem == problem.name]
    deadlines = [window.closes_at for window in own if window.closes_at is not None]
    told = [f"On {window.device} mode leaderboard is open {window}." for window in own]
    about = f"{problem.title}: {problem.equation}\n{problem.description}"
    return {
        "id": _board_id(problem.name),
        "name": problem.name,
        "deadline": _time(max(deadlines)) if deadlines else None,
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


def _runs_of(job: Job) -> Sequence[Json]:
    """Return a run a phase, and one a timed case: the client shows times nowhere else."""
    verdict = job.verdict
    if verdict is None:
        return []
    scored = "leaderboard" if job.mode is Mode.RANKED else "benchmark"
    runs = []
    for phase in phases_of(verdict, job.mode, len(PROBLEMS[job.problem].tests)):
        score = verdict.score if phase.key == scored else None
        time_us = None if score is None else score.geomean_us
        runs.append(_run(job, verdict, phase.key, phase.passed, time_us))
        for place, case in enumerate(phase.cases):
            if phase.key == scored and case.timing is not None:
                name, right = f"{scored}.{place}", case.outcome == "passed"
                runs.append(_run(job, verdict, name, right, case.timing.median_us))
    return runs


def _run(job: Job, verdict: Verdict, mode: str, passed: bool, time_us: float | None) -> Json:
    return {
        "mode": mode,
        "passed": passed,
        "score": _seconds(time_us),
        "secret": False,
        "runner": verdict.environment.device,
        "start_time": _time(job.started_at or job.created_at),
        "end_time": _time(job.finished_at or job.created_at),
    }


def _board_id(name: str) -> int:
    return 1 + list(PROBLEMS).index(name)


def _file_name(job: Job) -> str:
    return job.filename or f"built-in {job.kernel}"


def _time(at: datetime) -> str:
    return at.isoformat(timespec="seconds")


def _seconds(time_us: float | None) -> float | None:
    return None if time_us is None else time_us / US_PER_S
