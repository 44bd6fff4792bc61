"""What this machine adds to every call, measured with kernels of our own on the road of a job."""

import statistics
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Final

from contract.limits import Limits
from kernels.measurement import Calibration
from kernels.problem import Case
from worker.calls import Calls
from worker.gpu import GpuGround, staging_cost
from worker.runner_process import RunnerFailed, RunnerProcess
from worker.sampling import Baseline, Sample, delta_of
from worker.seeds import derive, random_seed
from worker.timed_road import TimedRoad

SOURCE: Final = b"""
def custom_kernel(data):
    outputs = [c for _, _, c in data[0]]
    for output in outputs:
        output.zero_()
    return outputs
"""
CASES: Final = (
    Case(m=(128,), n=(256,), k=(16,)),
    Case(m=(64,) * 4, n=(512,) * 4, k=(64,) * 4),
    Case(m=(2048,), n=(8192,), k=(16,)),
)
"""From a few microseconds to some tens: the overhead is the same for all of them."""
PROCESSES: Final = 3
"""Times of all jobs stand beside what an empty kernel takes in them: one alone may be off."""
CALLS: Final = 20
WARM_UP: Final = 5
IDLE_US: Final = 14.0
"""What is left of the overhead where no context switch is in it. Measured on an H200."""


def calibrate(
    ground: GpuGround, start: Callable[[], RunnerProcess], limits: Limits, cancel_fd: int
) -> Calibration:
    """Measure overhead and staging on an idle device, in some seconds.

    Raises:
        RunnerFailed: the runner did not do what it must.

    """
    flush_us, copy_us = staging_cost(ground)
    road = TimedRoad(ground, None)
    with ExitStack() as stack:
        runners = []
        for _ in range(PROCESSES):  # all import at once
            runners.append(start())
            stack.callback(runners[-1].close)
        for runner in runners:
            runner.wait_ready(cancel_fd)
        of_each = [Calls(runner, ground, road, limits, cancel_fd) for runner in runners]
        for calls in of_each:
            stack.callback(calls.close)
        baselines = [_baseline(calls) for calls in of_each]
        samples = _samples(of_each[0], runners[0])
    overheads = [sample.wall_us - sample.event_us for sample in samples]
    deciles = statistics.quantiles(overheads, n=10)
    overhead_us = statistics.median(overheads)
    spread_us = deciles[8] - deciles[0]
    switch_us = max(0.0, overhead_us - IDLE_US)
    return Calibration(
        overhead_us=overhead_us,
        spread_us=spread_us,
        delta_us=delta_of(spread_us),
        switch_us=switch_us,
        copy_us_per_byte=copy_us,
        flush_us=flush_us,
        flush_bytes=ground.flush_bytes,
        hidden_us=flush_us + switch_us / 2,
        samples=len(samples),
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
        empty_us=statistics.median(each.median_us for each in baselines),
    )


def _baseline(calls: Calls) -> Baseline:
    calls.hand_over(SOURCE, CASES)
    calls.measure_baseline()
    assert calls.baseline is not None
    return calls.baseline


def _samples(calls: Calls, runner: RunnerProcess) -> list[Sample]:
    if (failure := calls.open()) is not None:
        raise RunnerFailed(f"calibration: {failure.message}: {runner.stderr.text()}")
    samples = []
    for case in CASES:
        seed = random_seed()
        for number in range(WARM_UP + CALLS):
            called = calls.call(case, "official", derive(seed, number))
            if called.sample is None:
                raise RunnerFailed(f"calibration: {called.failure}: {runner.stderr.text()}")
            if number >= WARM_UP:
                samples.append(called.sample)
    return samples
