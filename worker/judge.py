"""A submission becomes a verdict: the order of the checks, and nothing else.

Every call is a check, and every timed call is a check too: see `worker.calls`. A case is first
called on its own distribution and, where that is the official one, on full-range operands at the
same sizes. After a wrong case the later ones still run; after a crash or an overrun there is nobody
left to ask.
"""

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from contract.job import Progress
from contract.submission import Mode, Submission
from contract.verdict import CaseResult
from kernels.compare import merge
from kernels.measurement import Comparison
from kernels.problem import Case, Distribution
from worker.blame import Failure
from worker.calls import Called, Calls
from worker.review import Flag
from worker.sampling import Calibration, Sample, spread, timing_of
from worker.seeds import derive

OWN_CALLS: Final = 2
"""Calls of a case on its own distribution before anything is timed."""
SAMPLES: Final = 20
"""Timed calls of a case at least, and as many again until the spread is small."""
MOST_SAMPLES: Final = 60
SETTLED: Final = 0.02
"""A spread p10..p90 below this share of the median needs no more samples."""
SAMPLING_S: Final = 15.0
"""No more samples of a case once it has taken this long, ours included."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What times depend on."""

    device: str
    calibration: Calibration | None
    """None where nothing is timed."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was found, before the log and the machine are added."""

    cases: tuple[CaseResult, ...]
    failure: Failure | None
    calls: int
    review: tuple[Flag, ...]


class Judge:
    """One job on one runner. Use once."""

    def __init__(self, submission: Submission, seed: int, calls: Calls, machine: Machine) -> None:
        """Take the calls; the caller closes the runner behind them."""
        self._submission = submission
        self._seed = seed
        self._calls = calls
        self._machine = machine

    def judge(self, source: bytes) -> Iterator[Progress | Judgement]:
        """Yield progress, and the judgement last.

        Raises:
            RunnerFailed, Interrupted: see `worker.runner_process`.

        """
        cases = self._submission.cases
        yield Progress(stage="importing", cases=len(cases))
        try:
            refused = self._calls.open(source, cases)
            results: list[CaseResult] = []
            alive = refused is None
            for index, case in enumerate(cases):
                if not alive:
                    results.append(blank(index, case))
                    continue
                yield Progress(stage="testing", case=index, cases=len(cases))
                result = self._test(index, case)
                if self._timed and result.outcome == "passed" and any(case.m):
                    yield Progress(stage="benchmarking", case=index, cases=len(cases))
                    result = self._time(result, case)
                results.append(result)
                alive = result.outcome in ("passed", "incorrect")
        finally:
            self._calls.close()
        failure = refused or first_failure(results)
        yield Judgement(tuple(results), failure, self._calls.count, self._calls.review)

    @property
    def _timed(self) -> bool:
        return self._submission.mode is not Mode.TEST and self._machine.calibration is not None

    def _test(self, index: int, case: Case) -> CaseResult:
        """Check a case, in an order that the candidate cannot know."""
        seed = case_seed(self._seed, index, case)
        wanted: list[Distribution] = [case.distribution] * OWN_CALLS
        if case.distribution == "official":
            wanted.append("full_range")
        found: list[tuple[bool, Comparison]] = []
        # From the seed: nobody knows it while the job runs, and who repeats it sees the same order.
        order = random.Random(derive(seed, "order"))  # noqa: S311
        for number in order.sample(range(len(wanted)), len(wanted)):
            called = self._calls.call(case, wanted[number], derive(seed, "call", number))
            if isinstance(called, Failure):
                return result_of(index, case, merged(found), called)
            found.append((number < OWN_CALLS, called.comparison))
            if called.failure is not None:
                return result_of(index, case, merged(found), called.failure)
        return result_of(index, case, merged(found), None)

    def _time(self, tested: CaseResult, case: Case) -> CaseResult:
        """Time a case that is right. Every timed call is checked as well."""
        calibration = self._machine.calibration
        assert calibration is not None
        seed = case_seed(self._seed, tested.index, case)
        samples: list[Sample] = []
        deadline_s = time.monotonic() + SAMPLING_S
        surprise = random.SystemRandom()
        while not enough(samples) and (len(samples) < SAMPLES or time.monotonic() < deadline_s):
            called = self._calls.call(case, case.distribution, derive(seed, "timed", len(samples)))
            failure = called if isinstance(called, Failure) else called.failure
            if failure is None and case.distribution == "official" and not surprise.randrange(8):
                failure = self._check_full_range(case, derive(seed, "surprise", len(samples)))
            if failure is not None:
                return with_failure(tested, failure)
            assert isinstance(called, Called)
            assert called.sample is not None
            samples.append(called.sample)
        timing, disbelief = timing_of(samples, case, self._machine.device, calibration)
        timed = tested.model_copy(update={"timing": timing})
        return timed if disbelief is None else with_failure(timed, disbelief)

    def _check_full_range(self, case: Case, seed: int) -> Failure | None:
        """Check what a candidate that counts its calls may have stopped to do."""
        called = self._calls.call(case, "full_range", seed)
        return called if isinstance(called, Failure) else called.failure


def enough(samples: Sequence[Sample]) -> bool:
    """Whether more samples would not tell more."""
    if len(samples) < SAMPLES or len(samples) % SAMPLES:
        return False
    return len(samples) >= MOST_SAMPLES or spread([s.event_us for s in samples]) < SETTLED


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


def first_failure(results: Sequence[CaseResult]) -> Failure | None:
    """Return the failure of the first case that did not pass."""
    for result in results:
        if result.outcome is not None and result.outcome != "passed":
            return Failure(result.outcome, result.reason or "", result.message or "")
    return None


def result_of(
    index: int, case: Case, comparison: Comparison | None, failure: Failure | None
) -> CaseResult:
    """Write down what was found for a case."""
    update = {"outcome": "passed", "comparison": comparison}
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
    return CaseResult(index=index, m=case.m, n=case.n, k=case.k, distribution=case.distribution)
