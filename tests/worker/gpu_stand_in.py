"""Stands in for a GPU, and for nothing else: judge, sandbox, runner, comparison are as they are.

Operands lie on the CPU, the runner's interpreter computes, and the clock says for every call what
`EVENT_US` says, and what a process adds; but a runner's own claim of a second or more. The problem
is a small one of the same name. Run as the judge's program, with the end of the worker's socket as
its argument.
"""

import sys
from collections.abc import Mapping
from dataclasses import replace

from contract import submission
from contract.verdict import Environment
from kernels.measurement import Calibration
from kernels.problem import Case
from kernels.problems import NVFP4_GROUP_GEMM
from worker import judge_main, plan
from worker.baseline import LAYOUT
from worker.blame import Failure
from worker.device import EMULATION_ENVIRONMENT
from worker.ends import Answered, End
from worker.environment import describe_machine
from worker.gpu_lock import lock_folder, lock_gpu
from worker.ground import CpuGround
from worker.ncu import find_ncu
from worker.road import InSlot, PlainRoad, Turn
from worker.settings import WorkerSettings
from worker.telemetry import Reading

PROBLEM = replace(
    NVFP4_GROUP_GEMM,
    tests=(Case(m=(8, 16), n=(32, 16), k=(64, 32)), Case(m=(5,), n=(24,), k=(64,))),
    benchmarks=(Case(m=(16,), n=(32,), k=(64,)), Case(m=(8, 4), n=(16, 16), k=(32, 32))),
)
EVENT_US = {1: 100.0, 2: 400.0}
"""By the number of groups."""
EMPTY_US = 2.75
PROCESS_US = 0.25
"""What events say too much in every process but that of the calibration."""
CLAIM_US = 1e6
OVERHEAD_US = 170.0
SOUND = "proofs-"
"""A worker of the name `proofs-1` has a GPU that passes its proof once."""
CALIBRATION = Calibration(
    overhead_us=OVERHEAD_US,
    spread_us=5.0,
    delta_us=8.0,
    switch_us=156.0,
    copy_us_per_byte=1e-6,
    flush_us=480.0,
    flush_bytes=256 << 20,
    hidden_us=1e6,
    samples=60,
    measured_at="2026-01-01T00:00:00+00:00",
    empty_us=EMPTY_US,
)


class TimedCpuGround(CpuGround):
    emulated = False


def is_empty(slot: InSlot) -> bool:
    """Whether it is a call of our empty kernel."""
    return slot.image.slot.layout == LAYOUT


def device_us(slot: InSlot) -> float:
    """Return what a call takes."""
    return EMPTY_US if is_empty(slot) else EVENT_US.get(slot.groups, 50.0)


class StandInRoad(PlainRoad):
    baseline_calls = 12

    def call(self, slot: InSlot, turn: Turn) -> tuple[End | Failure, float]:
        end, _ = super().call(slot, turn)
        event_us = device_us(slot) + PROCESS_US
        if isinstance(end, Answered):
            claim_us = end.answer.event_us
            event_us = claim_us if claim_us >= CLAIM_US else event_us
            end = Answered(replace(end.answer, event_us=event_us))
        return end, event_us + OVERHEAD_US


class StandInMeter:
    """Gets warmer with every look."""

    def __init__(self) -> None:
        self._temperature_c = 40.0

    def read(self) -> Reading:
        self._temperature_c += 0.5
        return Reading(1980, 3201, self._temperature_c, 300, 0)


class StandInGpu:
    environment: Mapping[str, str] = EMULATION_ENVIRONMENT

    def __init__(self, settings: WorkerSettings) -> None:
        if settings.gpu:
            lock_gpu(settings.gpu, lock_folder(settings.sandbox), "worker beta, process 78")
        self.ground = TimedCpuGround()
        self.sandbox = settings.sandbox
        self.ncu = find_ncu(settings.ncu) if settings.ncu else None
        self.meter = StandInMeter()
        self._calibrations = self._proofs = 0
        self._sound = int(settings.name.removeprefix(SOUND)) if settings.name else 1_000_000

    def calibrate(self, start: object) -> Calibration:
        self._calibrations += 1
        return replace(CALIBRATION, samples=self._calibrations)

    def road(self, calibration: object) -> StandInRoad:
        return StandInRoad()

    def prove(self) -> str | None:
        self._proofs += 1
        return None if self._proofs <= self._sound else "it multiplies wrongly"


def describe(sandbox: str) -> Environment:
    facts = {"device": "H200", "gpu": "NVIDIA H200", "gpu_uuid": "GPU-0"}
    return describe_machine(sandbox).model_copy(update=facts)


def main() -> None:
    submission.PROBLEMS = {PROBLEM.name: PROBLEM}
    plan.MOST_ROWS, plan.MOST_STEPS = 16, 1
    judge_main.find_device = StandInGpu
    judge_main.describe_machine = describe
    judge_main.device_names = lambda: ("H200", "sm_90", "any")
    judge_main.main()


if __name__ == "__main__":
    sys.exit(main())
