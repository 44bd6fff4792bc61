"""The runs of a job as the client reads them: it prints what they say, and its exit code follows.

A ranked job stands there as a run that is shown and one under a secret seed, which the client wants
to see passed. Here it is one and the same, under seeds that nobody knows. The client looks for both
under the word that it sent for the device, and prints the score of all that have one.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from contract.job import Job
from contract.problem import PROBLEMS
from contract.submission import Mode
from contract.verdict import Verdict
from service.compat.cases import spec_of
from service.compat.phases import Phase, phases_of, results_of

Json = Mapping[str, object]
US_PER_S = 1_000_000
RANKED = "leaderboard"


def runs_of(job: Job, word: str) -> Sequence[Json]:
    """Return a run a phase, and one a timed case: older clients show times nowhere else.

    `word` is what the client sent for the device.
    """
    verdict = job.verdict
    if verdict is None:
        return []
    scored = _scored(job)
    runs: list[Json] = []
    for phase in phases_of(verdict, job.mode, len(PROBLEMS[job.problem].tests)):
        runs += _runs_of_phase(job, verdict, phase, word)
        for place, case in enumerate(phase.cases):
            if phase.key == scored and case.timing is not None:
                name, right = f"{scored}.{place}", case.outcome == "passed"
                runs.append(_run(job, verdict, name, right, case.timing.median_us))
    return runs


def seconds(time_us: float | None) -> float | None:
    """Return a time as the client has it."""
    return None if time_us is None else time_us / US_PER_S


def time_text(at: datetime) -> str:
    """Return a moment as text."""
    return at.isoformat(timespec="seconds")


def _runs_of_phase(job: Job, verdict: Verdict, phase: Phase, word: str) -> Iterator[Json]:
    score = verdict.score if phase.key == _scored(job) else None
    time_us = None if score is None else score.geomean_us
    run = _run(job, verdict, phase.key, phase.passed, time_us)
    if phase.key == RANKED:
        yield {**run, "runner": word}
        yield {**run, "runner": word, "score": None, "secret": True}
    elif job.mode is Mode.RANKED:
        yield run
    else:
        problem = PROBLEMS[job.problem]
        yield {**run, "result": results_of(phase, [spec_of(problem, each) for each in phase.cases])}


def _scored(job: Job) -> str:
    return RANKED if job.mode is Mode.RANKED else "benchmark"


def _run(job: Job, verdict: Verdict, mode: str, passed: bool, time_us: float | None) -> Json:
    return {
        "mode": mode,
        "passed": passed,
        "score": seconds(time_us),
        "secret": False,
        "runner": verdict.environment.device,
        "start_time": time_text(job.started_at or job.created_at),
        "end_time": time_text(job.finished_at or job.created_at),
    }
