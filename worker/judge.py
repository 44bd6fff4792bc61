"""A submission becomes a verdict: the order of the checks, and nothing else.

Every call is a check, and every timed call is a check too: see `worker.calls`. A case is first
called on its own distribution and, where that is the official one, on full-range operands at the
same sizes. After a wrong case the later ones still run; after a crash or an overrun there is nobody
left to ask. What a mode adds to that is its plan: see `worker.plan`.
"""

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from contract.job import Progress
from contract.submission import Submission
from contract.verdict import CaseResult, HiddenCases
from kernels.compare import merge
from kernels.measurement import Calibration, Comparison
from kernels.problem import Case, Distribution
from kernels.problems import PROBLEMS
from worker.blame import Failure
from worker.calls import Calls
from worker.plan import Plan
from worker.review import Flag
from worker.sampling import Sample, timing_of
from worker.seeds import derive
from worker.telemetry import Meter, telemetry_of

OWN_CALLS: Final = 2
"""Calls of a case on its own distribution before anything is timed."""
SAMPLING_S: Final = 15.0
"""No more than the least samples of a case once it has taken this long, ours included."""
HIDDEN_FAILURE: Final = (
    "a hidden case failed, on full-range operands at sizes like the official ones, which are not "
    "told: mode `test` with `distribution` `full_range` and sizes of your own may show it"
)


@dataclass(frozen=True, slots=True)
class Machine:
    """What times depend on."""

    device: str
    calibration: Calibration | None
    """None where nothing is timed."""
    meter: Meter


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was found, before the log and the machine are added."""

    cases: tuple[CaseResult, ...]
    failure: Failure | None
    calls: int
    review: tuple[Flag, ...]
    hidden: HiddenCases | None = None


class Judge:
    """One job on one runner. Use once."""

    def __init__(
        self, submission: Submission, plan: Plan, seed: int, calls: Calls, machine: Machine
    ) -> None:
        """Take the calls; the caller closes the runner behind them."""
        self._problem = PROBLEMS[submission.problem]
        self._cases = submission.cases
        self._plan = plan
        self._seed = seed
        self._calls = calls
        self._machine = machine
        self._failure: Failure | None = None
        """The first, in the order in which cases run."""
        self._alive = True

    def judge(self, source: bytes) -> Iterator[Progress | Judgement]:
        """Yield progress, and the judgement last.

        Raises:
            RunnerFailed, Interrupted: see `worker.runner_process`.

        """
        try:
            self._calls.hand_over(source, (*self._cases, *self._plan.hidden))
            if self._plan.first_timed < len(self._cases):
                self._calls.measure_baseline()
            yield from self.examine()
        finally:
            self._calls.close()

    def examine(self) -> Iterator[Progress | Judgement]:
        """Do the same with calls that have the file, and leave them open for more of them."""
        yield Progress(stage="importing", cases=len(self._cases))
        results: list[CaseResult] = []
        hidden: list[CaseResult] = []
        self._note(self._calls.open())
        for index, case in enumerate(self._cases):
            if index == self._plan.first_timed:
                hidden = [self._hidden(number) for number in range(len(self._plan.hidden))]
            if not self._alive:
                results.append(blank(index, case))
                continue
            yield Progress(stage="testing", case=index, cases=len(self._cases))
            result = self._test(index, case)
            if self._is_timed(result) and any(case.m):
                yield Progress(stage="benchmarking", case=index, cases=len(self._cases))
                result = self._time(result, case)
            results.append(result)
            self._note(failure_of(result))
        told = tally(hidden) if self._plan.hidden else None
        calls = self._calls
        yield Judgement(tuple(results), self._failure, calls.count, calls.review, told)

    def _note(self, failure: Failure | None) -> None:
        """Keep the first failure; after one that is no wrong answer nobody is left to ask."""
        if failure is not None:
            self._failure = self._failure or failure
            self._alive = failure.outcome == "incorrect"

    def _is_timed(self, tested: CaseResult) -> bool:
        """Whether a case that was tested is timed as well."""
        if self._machine.calibration is None or tested.index < self._plan.first_timed:
            return False
        return tested.outcome == "passed" and not (self._plan.gated and self._failure)

    def _hidden(self, number: int) -> CaseResult:
        """Check a hidden case; of a failure only its kind is told."""
        case = self._plan.hidden[number]
        if self._failure is not None:
            return blank(number, case)
        result = self._test(number, case)
        failure = failure_of(result)
        if failure is not None:
            self._note(Failure(failure.outcome, failure.reason, HIDDEN_FAILURE))
        return result

    def _test(self, index: int, case: Case) -> CaseResult:
        """Check a case, in an order that the candidate cannot know."""
        seed = case_seed(self._seed, index, case)
        wanted: list[Distribution] = [case.distribution] * OWN_CALLS
        if case.distribution == "official":
            wanted.append("full_range")
        found: list[tuple[bool, Comparison]] = []
        first_call_s: float | None = None
        # From the seed: nobody knows it while the job runs, and who repeats it sees the same order.
        order = random.Random(derive(seed, "order"))  # noqa: S311
        for number in order.sample(range(len(wanted)), len(wanted)):
            called = self._calls.call(case, wanted[number], derive(seed, "call", number))
            if called.comparison is not None:
                found.append((number < OWN_CALLS, called.comparison))
                first_call_s = called.took_s if first_call_s is None else first_call_s
            if called.failure is not None:
                break
        return result_of(index, case, merged(found), called.failure, first_call_s)

    def _time(self, tested: CaseResult, case: Case) -> CaseResult:
        """Time a case that is right. Every timed call is checked as well."""
        calibration = self._machine.calibration
        assert calibration is not None
        seed = case_seed(self._seed, tested.index, case)
        samples: list[Sample] = []
        looks = [self._machine.meter.read()]
        deadline_s = time.monotonic() + SAMPLING_S
        surprise = random.SystemRandom()
        wanted = self._plan.sampling
        while not wanted.enough(samples) and (
            len(samples) < wanted.least or time.monotonic() < deadline_s
        ):
            called = self._calls.call(case, case.distribution, derive(seed, "timed", len(samples)))
            failure = called.failure
            if failure is None and case.distribution == "official" and not surprise.randrange(8):
                # What a candidate that counts its calls may have stopped to do.
                surprising = derive(seed, "surprise", len(samples))
                failure = self._calls.call(case, "full_range", surprising).failure
            if failure is not None:
                return with_failure(tested, failure)
            assert called.sample is not None
            samples.append(called.sample)
            looks.append(self._machine.meter.read())
        timing, disbelief = timing_of(
            samples,
            self._problem.work(case),
            self._machine.device,
            calibration,
            telemetry_of(looks),
            self._calls.baseline,
        )
        timed = tested.model_copy(update={"timing": timing})
        return timed if disbelief is None else with_failure(timed, disbelief)


def case_seed(seed: int, index: int, case: Case) -> int:
    """Return the seed all calls of a case derive from: its own, or the job's."""
    return derive(seed, "case", index) if case.seed is None else case.seed


def merged(found: Sequence[tuple[bool, Comparison]]) -> Comparison | None:
    """Join the calls of a case; `bit_exact` speaks of its own distribution."""
    if not found:
        return None
    own_calls = [comparison for own, comparison in found if own]
    exact = bool(own_calls) and all(comparison.bit_exact for comparison in own_calls)
    return merge([comparison for _, comparison in found], bit_exact=exact)


def failure_of(result: CaseResult) -> Failure | None:
    """Return the failure of a case; None where it passed or never ran."""
    if result.outcome is None or result.outcome == "passed":
        return None
    return Failure(result.outcome, result.reason or "", result.message or "")


def tally(hidden: Sequence[CaseResult]) -> HiddenCases:
    """Count hidden cases: all that is told of them."""
    passed = sum(result.outcome == "passed" for result in hidden)
    return HiddenCases(cases=len(hidden), passed=passed)


def result_of(
    index: int,
    case: Case,
    comparison: Comparison | None,
    failure: Failure | None,
    first_call_s: float | None,
) -> CaseResult:
    """Write down what was found for a case."""
    update = {"outcome": "passed", "comparison": comparison, "first_call_s": first_call_s}
    passed = blank(index, case).model_copy(update=update)
    return passed if failure is None else with_failure(passed, failure)


def with_failure(result: CaseResult, failure: Failure) -> CaseResult:
    """Write a failure into what was found for a case."""
    return result.model_copy(
        update={
            "outcome": failure.outcome,
            "reason": failure.reason,
            "message": failure.message,
        }
    )


def blank(index: int, case: Case) -> CaseResult:
    """Return the entry of a case that never ran."""
    return CaseResult(
        index=index, m=case.m, n=case.n, k=case.k, l=case.l, distribution=case.distribution
    )
