"""A verdict cut into the phases that other leaderboards know: test, benchmark, leaderboard."""

from collections.abc import Mapping, Sequence
from math import sqrt
from statistics import stdev
from typing import NamedTuple

from contract.submission import Mode
from contract.verdict import CaseResult, Verdict

NS_PER_US = 1000


class Phase(NamedTuple):
    """One phase: its key, and the cases that belong to it."""

    key: str
    cases: Sequence[CaseResult]
    blamed: bool = False
    """Whether it answers for what was found wrong in no case of it, as in a hidden one."""

    @property
    def passed(self) -> bool:
        """Whether there were cases, and all of them were right."""
        right = all(case.outcome == "passed" for case in self.cases)
        return bool(self.cases) and right and not self.blamed

    @property
    def timed(self) -> bool:
        """Whether every case has a time."""
        return all(case.timing is not None for case in self.cases)


def phases_of(verdict: Verdict, mode: Mode, tests: int) -> Sequence[Phase]:
    """Return the phases up to the first that did not pass.

    `tests` says how many of the cases of a ranked job are tests; the others are benchmarks.
    """
    cases = verdict.cases
    match mode:
        case Mode.RANKED:
            found = [
                Phase("test", cases[:tests]),
                Phase("benchmark", cases[tests:]),
                Phase("leaderboard", cases[tests:]),
            ]
        case Mode.BENCHMARK:
            found = [Phase("benchmark", cases)]
        case Mode.PROFILE:
            each = [Phase(f"profile.{place}", (case,)) for place, case in enumerate(cases)]
            found = each or [Phase("profile.0", ())]
        case _:
            found = [Phase("test", cases)]
    if verdict.outcome != "passed" and all(phase.passed for phase in found):
        found[-1] = found[-1]._replace(blamed=True)
    failing = next((place for place, phase in enumerate(found) if not phase.passed), len(found))
    return found[: failing + 1]


def results_of(phase: Phase, specs: Sequence[str]) -> Mapping[str, str]:
    """Return the dictionary of text that evaluators write, in nanoseconds. `specs` by case."""
    noun = "test" if phase.key == "test" else "benchmark"
    found = {f"{noun}-count": str(len(phase.cases))}
    for place, (case, spec) in enumerate(zip(phase.cases, specs, strict=True)):
        found[f"{noun}.{place}.spec"] = spec
        if case.outcome != "passed":
            found[f"{noun}.{place}.status"] = "fail"
            found[f"{noun}.{place}.error"] = one_line(case)
        elif noun == "test":
            found[f"{noun}.{place}.status"] = "pass"
        elif case.timing is not None:
            figures = _figures(case)
            found |= {f"{noun}.{place}.{name}": value for name, value in figures.items()}
    return found | {"check": "pass" if phase.passed else "fail"}


def one_line(case: CaseResult) -> str:
    """Say what is wrong with a case in one line; such results are lines of text."""
    if case.outcome is None:
        return "did not run"
    first = (case.message or "").strip().splitlines()
    return ": ".join((case.outcome.replace("_", " "), *first[:1]))


def _figures(case: CaseResult) -> Mapping[str, str]:
    """Return figures in ns. `mean` is our time of the case, as it is what backends rank by."""
    timing = case.timing
    assert timing is not None
    samples = timing.samples_us or (timing.median_us,)
    deviation = stdev(samples) if len(samples) > 1 else 0.0
    us = {
        "mean": timing.median_us,
        "std": deviation,
        "err": deviation / sqrt(len(samples)),
        "best": min(samples),
        "worst": max(samples),
    }
    return {"runs": str(timing.samples)} | {
        name: str(NS_PER_US * value) for name, value in us.items()
    }
