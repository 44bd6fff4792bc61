"""What people read: where a job is, why a file is wrong, how fast it is. Plain lines.

Their terminals get it as it is, so what a file printed is shown without anything to act on.
"""

from collections.abc import Sequence

from contract.job import Job, JobState
from contract.problem import PROBLEMS, Problem
from contract.verdict import CaseResult, Verdict
from service.compat.cases import spec_of
from service.compat.full_result import why_no_verdict
from service.visible import visible

SHOWN_CASES = 3
SHOWN_CHARACTERS = 1500
"""Of what is said about one case, or of a whole import that failed: tracebacks are long."""
SHOWN_LOG_LINES = 20


def standing_of(job: Job, *, served: bool) -> str:
    """Say where a job is that has not ended; `served`: a live worker could take it."""
    if job.state is JobState.RUNNING:
        return _progress_of(job)
    before = (job.position or 1) - 1
    ahead = f"{before} before it" if before else "next in line"
    return f"queued, {ahead}" if served else f"queued, no worker for {job.device} is alive"


def failure_of(job: Job) -> str | None:
    """Say why a job that has ended did not pass, the first failing cases by number and place."""
    verdict = job.verdict
    if verdict is None:
        return why_no_verdict(job) if job.state.ended else None
    if verdict.outcome == "passed":
        return None
    wrong = [case for case in verdict.cases if case.outcome not in (None, "passed")]
    problem = PROBLEMS[job.problem]
    said = [_about(problem, case) for case in wrong[:SHOWN_CASES]] or [_short(verdict.message)]
    if len(wrong) > SHOWN_CASES:
        said.append(f"and {len(wrong) - SHOWN_CASES} more failing cases")
    whole = f"whole verdict: GET /v1/jobs/{job.id}"
    return visible("\n".join((verdict.summary, *said, *_printed(verdict), whole)))


def report_of(problem: Problem, verdict: Verdict) -> str:
    """Say how a file that passed did, a line a case."""
    return "\n".join((verdict.summary, *(_line_of(problem, case) for case in verdict.cases)))


def _progress_of(job: Job) -> str:
    progress = job.progress
    if progress is None:
        return "running"
    case = "" if progress.case is None else f" case {progress.case + 1} of {progress.cases}"
    return f"running, {progress.stage}{case}"


def _about(problem: Problem, case: CaseResult) -> str:
    return f"{_name(problem, case)}: {_short(case.message or case.outcome or '')}"


def _name(problem: Problem, case: CaseResult) -> str:
    return f"case {case.index} ({spec_of(problem, case)})"


def _line_of(problem: Problem, case: CaseResult) -> str:
    timing, name = case.timing, _name(problem, case)
    if timing is None:
        return f"{name}: {case.outcome or 'did not run'}"
    return (
        f"{name}: {timing.median_us:.2f} us (p10 {timing.p10_us:.2f}, p90 {timing.p90_us:.2f}), "
        f"{timing.fraction_of_speed_of_light:.0%} of the speed of light"
    )


def _printed(verdict: Verdict) -> Sequence[str]:
    """Return the end of what the file printed: the client shows it nowhere else."""
    lines = (verdict.log.stdout + verdict.log.stderr).rstrip().splitlines()
    return ["it printed:", *lines[-SHOWN_LOG_LINES:]] if lines else []


def _short(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + " ..."
