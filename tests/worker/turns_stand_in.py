"""The stand-in for a GPU, with a clock that is noisy and that knows slow files.

A file that says `# takes 1.05 times as long` takes 1.05 times as long, and of one that says
`# 20 us are unexplained` the judge's clock says 20 us more than its events; drift and noise are
those of a device that gets warm, from a seed.
"""

import math
import random
import re
import sys
from dataclasses import replace
from pathlib import Path

from worker import calls, judging
from worker.blame import Failure
from worker.road import InSlot, PlainRoad, Turn
from worker.runner_process import Answered, End, RunnerProcess

sys.path.insert(0, str(Path(__file__).parent))  # the judge's interpreter is isolated

import gpu_stand_in
from gpu_stand_in import EVENT_US, OVERHEAD_US, StandInGpu

SLOWER = re.compile(rb"# takes ([0-9.]+) times as long")
UNEXPLAINED = re.compile(rb"# ([0-9]+) us are unexplained")
LEAVES_WORK = b"# leaves work on the device"
FACTORS: dict[RunnerProcess, float] = {}
BEYOND_US: dict[RunnerProcess, float] = {}
LEFT_BY: set[RunnerProcess] = set()
NOISE = random.Random(1)


class NotingCalls(calls.Calls):
    """Looks at the file for what the clock has to say."""

    def open(self, source, cases):
        said = SLOWER.search(source)
        FACTORS[self._runner] = float(said[1]) if said else 1.0
        beyond = UNEXPLAINED.search(source)
        BEYOND_US[self._runner] = float(beyond[1]) if beyond else 0.0
        if LEAVES_WORK in source:
            LEFT_BY.add(self._runner)
        return super().open(source, cases)


class NoisyRoad(PlainRoad):
    def __init__(self) -> None:
        self._calls = 0

    def call(self, slot: InSlot, turn: Turn) -> tuple[End | Failure, float]:
        # What one runner left is found before the call of whoever is next.
        if LEFT_BY and (self._calls or turn.runner in LEFT_BY):
            LEFT_BY.clear()
            return Failure("rejected", "resident_kernel", "the device was in use"), 0.0
        end, _ = super().call(slot, turn)
        self._calls += 1
        noise = math.exp(NOISE.gauss(0.0005 * self._calls, 0.005))
        event_us = EVENT_US.get(slot.groups, 50.0) * noise * FACTORS[turn.runner]
        if isinstance(end, Answered):
            end = Answered(replace(end.answer, event_us=event_us))
        return end, event_us + OVERHEAD_US + BEYOND_US[turn.runner]


class NoisyGpu(StandInGpu):
    def road(self, calibration: object) -> NoisyRoad:
        return NoisyRoad()


def main() -> None:
    gpu_stand_in.StandInGpu = NoisyGpu
    judging.Calls = NotingCalls
    gpu_stand_in.main()


if __name__ == "__main__":
    sys.exit(main())
