"""The stand-in for a GPU, with a clock that is noisy and that knows slow files.

A file that says `# takes 1.05 times as long` takes 1.05 times as long, of one that says
`# 20 us are unexplained` the judge's clock says 20 us more than its events, and the process of one
that says `# its process adds 2.5 us` has that in all events; drift and noise are those of a device
that gets warm, from a seed.
"""

import math
import random
import re
import sys
from dataclasses import replace
from pathlib import Path

from worker import calls, judging
from worker.blame import Failure
from worker.ends import Answered, End
from worker.road import InSlot, PlainRoad, Turn
from worker.runner_process import RunnerProcess

sys.path.insert(0, str(Path(__file__).parent))  # the judge's interpreter is isolated

import gpu_stand_in
from gpu_stand_in import EMPTY_US, OVERHEAD_US, StandInGpu, device_us, is_empty

SLOWER = re.compile(rb"# takes ([0-9.]+) times as long")
UNEXPLAINED = re.compile(rb"# ([0-9]+) us are unexplained")
ADDS = re.compile(rb"# its process adds ([0-9.]+) us")
LEAVES_WORK = b"# leaves work on the device"
COMES_LATE = b"# somebody is at work before its import"
FACTORS: dict[RunnerProcess, float] = {}
BEYOND_US: dict[RunnerProcess, float] = {}
ADDED_US: dict[RunnerProcess, float] = {}
LEFT_BY: set[RunnerProcess] = set()
LATE: set[RunnerProcess] = set()
NOISE = random.Random(1)


class NotingCalls(calls.Calls):
    """Looks at the file for what the clock has to say."""

    def hand_over(self, source, cases):
        said = SLOWER.search(source)
        FACTORS[self._runner] = float(said[1]) if said else 1.0
        beyond = UNEXPLAINED.search(source)
        BEYOND_US[self._runner] = float(beyond[1]) if beyond else 0.0
        adds = ADDS.search(source)
        ADDED_US[self._runner] = float(adds[1]) if adds else 0.0
        self._leaves = LEAVES_WORK in source
        if COMES_LATE in source:
            LATE.add(self._runner)
        return super().hand_over(source, cases)

    def open(self):
        if self._leaves:
            LEFT_BY.add(self._runner)
        return super().open()


class NoisyRoad(PlainRoad):
    baseline_calls = 12

    def __init__(self) -> None:
        self._calls = 0

    def call(self, slot: InSlot, turn: Turn) -> tuple[End | Failure, float]:
        if is_empty(slot):
            return self._empty(slot, turn)
        # What one runner left is found before the call of whoever is next.
        if LEFT_BY and (self._calls or turn.runner in LEFT_BY):
            LEFT_BY.clear()
            return Failure("rejected", "resident_kernel", "the device was in use"), 0.0
        end, _ = super().call(slot, turn)
        self._calls += 1
        noise = math.exp(NOISE.gauss(0.0005 * self._calls, 0.005))
        event_us = device_us(slot) * noise * FACTORS[turn.runner] + ADDED_US[turn.runner]
        if isinstance(end, Answered):
            end = Answered(replace(end.answer, event_us=event_us))
        return end, event_us + OVERHEAD_US + BEYOND_US[turn.runner]

    def _empty(self, slot: InSlot, turn: Turn) -> tuple[End | Failure, float]:
        if turn.runner in LATE:
            return Failure("rejected", "resident_kernel", "the device was in use"), 0.0
        end, _ = super().call(slot, turn)
        event_us = EMPTY_US + ADDED_US[turn.runner]
        if isinstance(end, Answered):
            end = Answered(replace(end.answer, event_us=event_us))
        return end, event_us + OVERHEAD_US


class NoisyGpu(StandInGpu):
    def road(self, calibration: object) -> NoisyRoad:
        return NoisyRoad()


def main() -> None:
    gpu_stand_in.StandInGpu = NoisyGpu
    judging.Calls = NotingCalls
    gpu_stand_in.main()


if __name__ == "__main__":
    sys.exit(main())
