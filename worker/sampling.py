"""From samples to a time: the rule, and what it takes to be believed.

A sample is two durations of one call: what the runner's events say, and what the judge's events
say of how long it was without the device. The difference of the two is a constant of the machine,
the *overhead* (two switches of contexts, the synchronisation, the done word), which calibration
measures with kernels of our own. A forged event can only be too short, and then the difference
grows by as much.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from kernels.measurement import DELTA_US, Calibration, Telemetry, Timing
from kernels.problem import Work
from kernels.roofline import floor_us, speed_of_light_us
from worker.blame import Failure

UNSTABLE: Final = 0.05
"""A spread p10..p90 above this share of the median is worth a flag."""
LEAST_US: Final = 0.01
"""A claim of no time at all counts as this, so that nothing is divided by it."""
FLOOR_SHARE: Final = 0.7
"""Nothing is faster than this share of what the datasheet allows."""
MOST_DELTAS: Final = 3
"""From as many of them on a time is not believed at all,"""
MOST_SHARE: Final = 0.02
"""nor from this share of itself on, whichever is more: what disturbs grows with a long call. Up to
there the excess is billed, so that nothing is gained by it."""

MOST_SPREAD_US: Final = 1.0
MOST_CORRECTION_US: Final = 3.0
"""A baseline beyond these says nothing of its process. In 20 processes on an H200 none was."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One timed call."""

    event_us: float
    wall_us: float
    host_us: float
    """What the runner says it took to issue its work: a hint for `launch_bound` only."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What events say of an empty kernel in one process: see `worker.baseline`."""

    median_us: float
    spread_us: float
    """p10..p90."""

    @classmethod
    def of(cls, events: Sequence[float]) -> Self:
        """Sum up some calls."""
        p10_us, p90_us = _p10_p90(events)
        return cls(statistics.median(events), p90_us - p10_us)

    def correction_us(self, calibration: Calibration) -> float | None:
        """Return what events say too much beside those of the calibration; None: nobody knows."""
        beyond_us = self.median_us - calibration.empty_us
        known = self.spread_us <= MOST_SPREAD_US and abs(beyond_us) <= MOST_CORRECTION_US
        return beyond_us if known else None


def delta_of(spread_us: float, least_us: float = DELTA_US) -> float:
    """Return how far wall and event may drift apart on a machine with such a spread."""
    return max(least_us, spread_us / 2)


def timing_of(
    samples: Sequence[Sample],
    work: Work,
    device: str,
    calibration: Calibration,
    telemetry: Telemetry | None = None,
    baseline: Baseline | None = None,
) -> tuple[Timing, Failure | None]:
    """Return the time of a case, and a failure where it cannot be believed.

    What the process adds to events is taken off the time. Whether the clocks agree goes by the
    events as they are.
    """
    found_us = 0.0 if baseline is None else baseline.correction_us(calibration)
    correction_us = found_us or 0.0
    event_us = statistics.median(max(sample.event_us, LEAST_US) for sample in samples)
    times = [max(sample.event_us - correction_us, LEAST_US) for sample in samples]
    # Call by call: the medians of two noisy durations may drift apart where no call does.
    apart_us = statistics.median(sample.wall_us - sample.event_us for sample in samples)
    excess_us = apart_us - calibration.overhead_us
    median_us = statistics.median(times) + max(0.0, excess_us - calibration.delta_us)
    p10_us, p90_us = _p10_p90(times)
    light_us = speed_of_light_us(work, device) or 0.0
    throttled = telemetry is not None and bool(telemetry.throttle_reasons)
    timing = Timing(
        median_us=median_us,
        p10_us=p10_us,
        p90_us=p90_us,
        samples=len(samples),
        method="events" if excess_us <= calibration.delta_us else "wall",
        event_median_us=event_us,
        wall_median_us=event_us + apart_us,
        overhead_us=calibration.overhead_us,
        end_to_end_us=statistics.median(sample.wall_us for sample in samples),
        unstable=p90_us - p10_us > UNSTABLE * median_us or throttled or found_us is None,
        launch_bound=statistics.median(sample.host_us for sample in samples)
        > calibration.hidden_us,
        tflops=work.flops / median_us / 1e6,
        gbytes_per_s=work.moved_bytes / median_us / 1e3,
        speed_of_light_us=light_us,
        fraction_of_speed_of_light=light_us / median_us,
        samples_us=tuple(times),
        telemetry=telemetry,
        correction_us=correction_us,
    )
    return timing, _disbelief(timing, work, device, calibration.delta_us)


def _disbelief(timing: Timing, work: Work, device: str, delta_us: float) -> Failure | None:
    wall_us = timing.wall_median_us - timing.overhead_us
    excess_us = wall_us - timing.event_median_us
    most_us = max(MOST_DELTAS * delta_us, MOST_SHARE * wall_us)
    if excess_us > most_us:
        return Failure(
            "rejected",
            "forged_clock",
            f"the runner's events say {timing.event_median_us:.2f} us, the judge's clock "
            f"{wall_us:.2f} us: {excess_us:.1f} us are unexplained, {most_us:.4g} may be",
        )
    least_us = FLOOR_SHARE * (floor_us(work, device) or 0.0)
    if timing.median_us < least_us:
        return Failure(
            "rejected",
            "below_floor",
            f"{timing.median_us:.2f} us is less than physics allows on {device}: {least_us:.2f} us",
        )
    return None


def spread(values: Sequence[float]) -> float:
    """Return p10..p90 as a share of the median."""
    p10, p90 = _p10_p90(values)
    return (p90 - p10) / max(statistics.median(values), LEAST_US)


def _p10_p90(values: Sequence[float]) -> tuple[float, float]:
    deciles = statistics.quantiles(values, n=10, method="inclusive")
    return deciles[0], deciles[8]
