"""Two candidates called in turns: first whether they are right, then which is faster.

Either has a runner of its own, which waits on its socket while the other one is called, so that
both run on one machine, in one sitting and through the same calls as in every other mode. First A
is tested alone, before B is imported, then B. What fails ends the comparison: there is nothing to
compare with what is wrong. Then rounds of pairs, each timed call checked as well, and a ratio: see
`kernels.turns`.
"""

import random
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

from contract.job import Progress
from contract.submission import Mode, Submission
from contract.verdict import CaseResult
from kernels.measurement import Timing
from kernels.problems import PROBLEMS
from kernels.turns import LEAST_ROUNDS, ORDERS, Ratio
from worker.blame import Failure
from worker.calls import Calls
from worker.judge import Judge, Judgement, Machine, blank, case_seed, with_failure
from worker.plan import Plan
from worker.sampling import Sample, timing_of
from worker.seeds import derive
from worker.telemetry import Reading, telemetry_of
from worker.weighing import ratio_between

ROUNDS: Final = 48
COMPARING_S: Final = 120.0
"""No more than the least rounds once the rounds have taken this long, ours included."""
Name = Literal["a", "b"]
NAMES: Final[tuple[Name, Name]] = ("a", "b")


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two, on a runner of its own."""

    submission: Submission
    """What would test it alone."""
    source: bytes
    calls: Calls


@dataclass(frozen=True, slots=True)
class Found:
    """What was found of both, before logs and machine are added."""

    cases: tuple[tuple[CaseResult, ...], ...]
    """Of A, and of B."""
    ratios: tuple[Ratio | None, ...]
    """Of each case; None where it was not timed."""
    overall: Ratio | None
    """None where one of the two failed."""
    failure: Failure | None = None
    at_fault: Name | None = None
    """Whose the failure is; None also where that cannot be told."""


def alone(submission: Submission) -> tuple[Submission, Submission]:
    """Return what would test A alone, and B; each has half of the job's time."""
    other = submission.other
    assert other is not None
    half = submission.limits.model_copy(update={"job_s": submission.limits.job_s / 2})
    a = submission.model_copy(update={"mode": Mode.TEST, "other": None, "limits": half})
    its = {"kernel": other.kernel, "source": other.source, "filename": other.filename}
    return a, a.model_copy(update=its)


class Comparing:
    """One comparison. Use once."""

    def __init__(self, sides: tuple[Side, Side], seed: int, machine: Machine) -> None:
        """Take both sides; the caller closes the runners behind them."""
        self._sides = sides
        self._seed = seed
        self._machine = machine
        self._cases = sides[0].submission.cases
        self._work = PROBLEMS[sides[0].submission.problem].work
        self._timed = [index for index, case in enumerate(self._cases) if any(case.m)]
        untouched = [blank(index, case) for index, case in enumerate(self._cases)]
        self._results = [list(untouched) for _ in sides]
        self._samples: list[list[list[Sample]]] = [[[] for _ in self._cases] for _ in sides]
        self._looks: list[list[Reading | None]] = [[] for _ in self._cases]

    def compare(self) -> Iterator[Progress | Found]:
        """Yield progress, and what was found last.

        Raises:
            RunnerFailed, Interrupted: see `worker.runner_process`.

        """
        try:
            for side in self._sides:  # before either file runs: it could disturb the other's
                side.calls.hand_over(side.source, self._cases)
                side.calls.measure_baseline()
            for which in range(len(self._sides)):
                failure = yield from self._tested(which)
                if failure is not None:
                    # While A is tested, B is not there yet.
                    yield self._failed(failure, which, certain=which == 0)
                    return
            yield Progress(stage="comparing", cases=len(self._cases))
            yield self._turns() or self._weighed()
        finally:
            for side in self._sides:
                side.calls.close()

    def _tested(self, which: int) -> Generator[Progress, None, Failure | None]:
        """Test one of the two as mode `test` does; return what fails it."""
        side, nothing_timed = self._sides[which], Plan(first_timed=len(self._cases))
        judge = Judge(side.submission, nothing_timed, self._seed, side.calls, self._machine)
        for step in judge.examine():
            if isinstance(step, Judgement):
                self._results[which] = list(step.cases)
                return step.failure
            yield step
        raise AssertionError("a judge always ends with a judgement")

    def _turns(self) -> Found | None:
        """Call both in turns, round by round; return what was found where one fails."""
        coin = random.SystemRandom()
        deadline_s = time.monotonic() + COMPARING_S
        for number in range(ROUNDS):
            # The clock ends it, never the figures: who stops when he likes them finds what he likes
            if number >= LEAST_ROUNDS and time.monotonic() > deadline_s:
                return None
            for index in self._timed:
                failed = self._pair(index, number, coin.choice(ORDERS))
                if failed is not None:
                    return failed
        return None

    def _pair(self, index: int, number: int, order: tuple[int, int]) -> Found | None:
        """Call both on the same operands, which neither has met before."""
        case = self._cases[index]
        seed = derive(case_seed(self._seed, index, case), "turns", number)
        for which in order:
            called = self._sides[which].calls.call(case, case.distribution, seed)
            if called.failure is not None:
                return self._failed(called.failure, which, index)
            assert called.sample is not None
            self._samples[which][index].append(called.sample)
        self._looks[index].append(self._machine.meter.read())
        return None

    def _weighed(self) -> Found:
        """Turn samples into times, by the rule of every mode, and times into ratios."""
        timings: dict[int, list[Timing]] = {index: [] for index in self._timed}
        for index, both in timings.items():
            for which in range(len(self._sides)):
                timing, disbelief = self._timing(index, which)
                update = {"timing": timing}
                self._results[which][index] = self._results[which][index].model_copy(update=update)
                if disbelief is not None:
                    return self._failed(disbelief, which, index)
                both.append(timing)
        each = {index: ratio_between([both]) for index, both in timings.items()}
        ratios = tuple(each.get(index) for index in range(len(self._cases)))
        overall = ratio_between(list(timings.values()))
        return replace(self._found(), ratios=ratios, overall=overall)

    def _timing(self, index: int, which: int) -> tuple[Timing, Failure | None]:
        calibration = self._machine.calibration
        assert calibration is not None
        return timing_of(
            self._samples[which][index],
            self._work(self._cases[index]),
            self._machine.device,
            calibration,
            telemetry_of(self._looks[index]),
            self._sides[which].calls.baseline,
        )

    def _failed(
        self, failure: Failure, which: int, index: int | None = None, *, certain: bool = False
    ) -> Found:
        """Say what fails and whose it is; of work left on the device nobody knows that."""
        if failure.reason == "resident_kernel" and not certain:
            unknown = replace(failure, message=f"of A or B, it cannot be told: {failure.message}")
            return replace(self._found(), failure=unknown)
        if index is not None:
            results = self._results[which]
            results[index] = with_failure(results[index], failure)
        return replace(self._found(), failure=failure, at_fault=NAMES[which])

    def _found(self) -> Found:
        a, b = map(tuple, self._results)
        return Found(cases=(a, b), ratios=(None,) * len(self._cases), overall=None)
