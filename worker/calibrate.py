"""What this machine adds to every call, measured with kernels of our own on the road of a job."""

import statistics
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from contract.limits import Limits
from kernels.measurement import Calibration
from kernels.problem import Case
from worker.calls import Calls
from worker.gpu import GpuGround, staging_cost
from worker.runner_process import RunnerFailed, RunnerProcess
from worker.sampling import Sample, delta_of
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
    runner = start()
    runner.wait_ready(cancel_fd)
    calls = Calls(runner, ground, TimedRoad(ground, None), limits, cancel_fd)
    try:
        if (failure := calls.open(SOURCE, CASES)) is not None:
            raise RunnerFailed(f"calibration: {failure.message}")
        samples = [sample for case in CASES for sample in _samples(calls, case)]
    except RunnerFailed as error:
        runner.close()
        raise RunnerFailed(f"{error}: {runner.stderr.text()}") from error
    finally:
        calls.close()
        runner.close()
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
    )


def _samples(calls: Calls, case: Case) -> list[Sample]:
    seed = random_seed()
    samples = []
    for number in range(WARM_UP + CALLS):
        called = calls.call(case, "official", derive(seed, number))
        if called.sample is None:
            raise RunnerFailed(f"calibration: {called.failure}")
        samples.append(called.sample)
    return samples[WARM_UP:]
