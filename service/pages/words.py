"""Values as people read them."""

from collections.abc import Sequence
from datetime import UTC, datetime

from contract.job import Job, JobState
from contract.problem import Distribution
from contract.verdict import CaseResult

THIN = "\N{NARROW NO-BREAK SPACE}"
NONE = "\N{EN DASH}"
_SPANS = ((60, 1, "s"), (3600, 60, "min"), (172_800, 3600, "h"), (float("inf"), 86_400, "days"))
STAGES = {
    "starting": "Starting a runner",
    "importing": "Importing the file",
    "testing": "Testing",
    "benchmarking": "Benchmarking",
    "comparing": "Comparing",
    "compiling": "Compiling",
    "profiling": "Profiling",
}


def figure(value: float, digits: int = 3) -> str:
    """Return a number with so many significant digits, thousands set apart, no exponent."""
    if value == 0:
        return "0"
    places = max(0, digits - len(str(int(abs(value)))) if abs(value) >= 1 else digits)
    if abs(value) < 10 ** -(digits + 1):
        return f"{value:.2g}"
    text = f"{value:,.{places}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace(",", THIN)


def micros(value_us: float | None, digits: int = 4) -> str:
    """Return a time in microseconds."""
    return NONE if value_us is None else f"{figure(value_us, digits)}{THIN}µs"


def percent(share: float, digits: int = 3) -> str:
    """Return a share of one."""
    return f"{figure(100 * share, digits)}{THIN}%"


def span(seconds: float) -> str:
    """Return a time in the unit that fits."""
    unit_s, unit = next((unit_s, unit) for limit, unit_s, unit in _SPANS if abs(seconds) < limit)
    return f"{figure(seconds / unit_s, 2)}{THIN}{unit}"


def ago(moment: datetime) -> str:
    """Return how long ago a moment was."""
    seconds = (datetime.now(UTC) - moment).total_seconds()
    return "just now" if seconds < 5 else f"{span(round(seconds))} ago"


def exactly(moment: datetime) -> str:
    """Return a moment to the second."""
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def count(case: CaseResult) -> str:
    """Return how many GEMMs a case has: groups of their own sizes, or a batch of equal ones."""
    if case.l > 1:
        return f"batch of {case.l}"
    return f"{len(case.m)} group{'' if len(case.m) == 1 else 's'}"


def extents(values: Sequence[int]) -> str:
    """Return `128`, `64-248`: the one value of all groups, or the smallest and the largest."""
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low}\N{EN DASH}{high}"


def distribution(value: Distribution) -> str:
    """Return the name of a distribution, or its constants."""
    if isinstance(value, str):
        return value
    return f"a {value.a_code} x {value.a_scale}, b {value.b_code} x {value.b_scale}"


def what(job: Job) -> str:
    """Return what a job runs: a file, or a built-in kernel."""
    one = job.filename or f"{job.kernel} (built in)"
    if job.other is None:
        return one
    return f"{one} against {job.other.filename or f'{job.other.kernel} (built in)'}"


def rest(summary: str, outcome: str) -> str:
    """Return a summary without the outcome, where it begins with that: a badge says it."""
    said = summary.removeprefix(outcome.replace("_", " "))
    if said == summary:
        return summary
    # Its first letter only: behind it stand NaN and names of exceptions.
    said = said.lstrip(": ")
    return said[:1].upper() + said[1:]


def now(job: Job) -> str:
    """Say in a sentence where a job is."""
    match job.state:
        case JobState.QUEUED:
            return "Queued" if job.position is None else f"Queued, number {job.position} in line"
        case JobState.RUNNING if job.progress is not None:
            said = STAGES.get(job.progress.stage, job.progress.stage.capitalize())
            if job.progress.case is None:
                return said
            return f"{said}: case {job.progress.case + 1} of {job.progress.cases}"
        case _:
            return job.state.capitalize()
