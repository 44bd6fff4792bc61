"""The result object that runners of other leaderboards return, made from a job that has ended."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import BaseModel, ConfigDict

from contract.job import Job
from contract.verdict import Verdict
from service.compat.phases import Phase, phases_of, results_of

FAILED_VALIDATION = 112
TIMED_OUT = 114
DIED = 1
TIMED = ("benchmark", "leaderboard")
_FROZEN = ConfigDict(frozen=True, use_attribute_docstrings=True)


class System(BaseModel):
    """The machine that judged."""

    model_config = _FROZEN

    gpu: str = ""
    device_count: int = 0
    cpu: str = ""
    runtime: str = ""
    """`CUDA`, or `CPU` where one stood in for a GPU."""
    platform: str = ""
    torch: str = ""
    hostname: str = ""


class Run(BaseModel):
    """How one phase went."""

    model_config = _FROZEN

    success: bool
    """Whether the file could be judged at all, however it did."""
    passed: bool
    command: str
    """There is no command: who judged, and what of the request was not used."""
    stdout: str
    stderr: str
    exit_code: int
    duration: float
    """Seconds of the whole job."""
    result: Mapping[str, str | int]
    """Text, times in nanoseconds; in a profile the count is a number."""


class ProfileFile(BaseModel):
    """What a profiler left behind."""

    model_config = _FROZEN

    profiler: str
    trace: str
    """A zip in base64."""
    download_url: str = ""


class EvalResult(BaseModel):
    """One phase."""

    model_config = _FROZEN

    start: datetime
    end: datetime
    compilation: None = None
    run: Run
    profile: ProfileFile | None = None


class Judged(BaseModel):
    """What halfbyte says beside the object that backends know."""

    model_config = _FROZEN

    job: str
    """Its id: `/v1/jobs/ID` has the whole verdict."""
    outcome: str | None
    summary: str
    emulated: bool
    ignored: tuple[str, ...]
    """Files and fields of the request that had no part in judging."""


class FullResult(BaseModel):
    """What a runner returns."""

    model_config = _FROZEN

    success: bool
    """False where there is no verdict, or no time where times were asked for: see `error`."""
    error: str
    system: System
    runs: Mapping[str, EvalResult]
    """By phase: `test`, `benchmark`, `leaderboard`."""
    halfbyte: Judged


def full_result(
    job: Job, specs: Sequence[str], tests: int, ignored: Sequence[str] = ()
) -> FullResult:
    """Return the result of a job that has ended.

    `specs` are its cases as text, in order; of a ranked job the first `tests` are its tests.
    """
    verdict = job.verdict
    if verdict is None:
        error = why_no_verdict(job)
        judged = _judged(job, None, error, ignored)
        return FullResult(success=False, error=error, system=System(), runs={}, halfbyte=judged)
    phases = phases_of(verdict, job.mode, tests)
    untimed = any(each.key in TIMED and each.passed and not each.timed for each in phases)
    error = "right, but not timed: the worker has no GPU" if untimed else ""
    return FullResult(
        success=not untimed,
        error=error,
        system=_system(verdict),
        runs={each.key: _eval_result(job, verdict, each, specs, ignored) for each in phases},
        halfbyte=_judged(job, verdict, verdict.summary, ignored),
    )


def why_no_verdict(job: Job) -> str:
    """Say why a job that has ended has no verdict."""
    if job.error is None:
        return f"the job was {job.state}"
    return f"not judged, through no fault of the file ({job.error.reason}): {job.error.message}"


def _eval_result(
    job: Job, verdict: Verdict, phase: Phase, specs: Sequence[str], ignored: Sequence[str]
) -> EvalResult:
    start, end = job.started_at or job.created_at, job.finished_at or job.created_at
    exit_code = 0 if phase.passed else _exit_code(verdict)
    own = tuple(specs[case.index] for case in phase.cases)
    said = "" if phase.passed or verdict.outcome == "passed" else f"{verdict.message}\n"
    run = Run(
        success=exit_code in (0, FAILED_VALIDATION),
        passed=phase.passed,
        command=" ".join(("halfbyte", verdict.environment.halfbyte, _not_used(ignored))).strip(),
        stdout=verdict.log.stdout,
        stderr=verdict.log.stderr + said,
        exit_code=exit_code,
        duration=(end - start).total_seconds(),
        result=results_of(phase, own),
    )
    return EvalResult(start=start, end=end, run=run)


def _exit_code(verdict: Verdict) -> int:
    match verdict.outcome:
        case "incorrect" | "rejected":
            return FAILED_VALIDATION
        case "timed_out":
            return TIMED_OUT
    return DIED


def _not_used(ignored: Sequence[str]) -> str:
    return f"(its own judge; not used: {', '.join(ignored)})" if ignored else ""


def _judged(job: Job, verdict: Verdict | None, summary: str, ignored: Sequence[str]) -> Judged:
    return Judged(
        job=job.id,
        outcome=None if verdict is None else verdict.outcome,
        summary=summary,
        emulated=verdict is not None and verdict.emulated,
        ignored=tuple(ignored),
    )


def _system(verdict: Verdict) -> System:
    here = verdict.environment
    return System(
        gpu=here.gpu or "",
        device_count=0 if verdict.emulated else 1,
        cpu=here.cpu or "",
        runtime="CPU" if verdict.emulated else "CUDA",
        platform="Linux",  # the only one that workers run on
        torch=here.torch,
        hostname=here.host,
    )
