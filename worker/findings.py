"""What was found of a file becomes a verdict: with the machine, the log and the review."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contract.submission import Submission
from contract.verdict import (
    VERDICT,
    CaseResult,
    Compared,
    ComparedCase,
    Environment,
    Log,
    ReviewFlag,
    Score,
    Verdict,
)
from kernels.measurement import Calibration
from worker.blame import Failure
from worker.comparing import NAMES, Found, Side
from worker.judge import Judgement, case_seed
from worker.plan import Plan
from worker.reproduce import request_body
from worker.review import WHY, Flag
from worker.runner_process import RunnerProcess
from worker.summary import failing_in, summarise, summarise_comparison


@dataclass(frozen=True, slots=True)
class Host:
    """What every verdict of a worker says of where it was found."""

    environment: Environment
    sandbox_level: int
    emulated: bool
    calibration: Calibration | None


def verdict_of(
    host: Host,
    runner: RunnerProcess,
    failure: Failure | None,
    review: Sequence[Flag],
    found: Mapping[str, object],
) -> Verdict:
    """Add to what was found the machine, the log of a runner that has ended, and the review."""
    fields: dict[str, object] = {
        "environment": host.environment,
        "sandbox_level": host.sandbox_level,
        "emulated": host.emulated,
        "calibration": host.calibration,
        "log": log_of(runner),
        "review": tuple(
            ReviewFlag(line=flag.line, word=flag.word, why=WHY[flag.word]) for flag in review
        ),
        **found,
    }
    if failure is not None:
        fields |= {"reason": failure.reason, "message": failure.message}
    outcome = "passed" if failure is None else failure.outcome
    return VERDICT.validate_python({"outcome": outcome, **fields})


def log_of(runner: RunnerProcess) -> Log:
    """Return what a runner that has ended wrote."""
    return Log(
        stdout=runner.stdout.text(),
        stderr=runner.stderr.text(),
        stdout_bytes=runner.stdout.total_bytes,
        stderr_bytes=runner.stderr.total_bytes,
        truncated=runner.stdout.truncated or runner.stderr.truncated,
    )


def fields_of(submission: Submission, plan: Plan, seed: int, found: Judgement) -> dict[str, object]:
    """Return what a verdict says of the cases."""
    failing = failing_in(found.cases)
    shown = 0 if failing is None else failing.index
    repeated_seed = case_seed(seed, shown, submission.cases[shown])
    fields: dict[str, object] = {
        "summary": summarise(found),
        "cases": found.cases,
        "hidden": found.hidden,
        "seed": f"{seed:032x}",
        "reproduce": request_body(submission, shown, repeated_seed),
    }
    return (
        fields if found.failure else fields | {"score": score_of(found.cases[plan.first_timed :])}
    )


def compared_fields(sides: Sequence[Side], seed: int, found: Found, log: Log) -> dict[str, object]:
    """Return what a verdict says of a comparison; `log` is what B wrote."""
    results, others = found.cases
    cases = tuple(
        ComparedCase(index=b.index, b=b, ratio=ratio)
        for b, ratio in zip(others, found.ratios, strict=True)
    )
    compared = Compared(overall=found.overall, at_fault=found.at_fault, cases=cases, log=log)
    fields: dict[str, object] = {
        "summary": summarise_comparison(found),
        "cases": results,
        "compared": compared,
        "seed": f"{seed:032x}",
    }
    if found.at_fault is None:
        return fields
    which = NAMES.index(found.at_fault)
    submission, failing = sides[which].submission, failing_in(found.cases[which])
    shown = 0 if failing is None else failing.index
    repeated_seed = case_seed(seed, shown, submission.cases[shown])
    return fields | {"reproduce": request_body(submission, shown, repeated_seed)}


def score_of(cases: Sequence[CaseResult]) -> Score | None:
    """Return the geometric mean of the medians, None unless each of the cases was timed."""
    medians = [case.timing.median_us for case in cases if case.timing is not None]
    if not medians or len(medians) < len(cases):
        return None
    return Score(geomean_us=statistics.geometric_mean(medians))
