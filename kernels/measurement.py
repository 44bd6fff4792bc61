"""What was found: a comparison with the reference, a timing. Standard library only."""

import math
from dataclasses import dataclass
from typing import Final, Literal

NonFinite = Literal["NaN", "Infinity", "-Infinity"]
Number = float | NonFinite
"""A number as it may stand in JSON: non-finite ones are words."""
DELTA_US: Final = 12.0
"""How far the judge's clock and events may drift apart unexplained. Measured on an H200; see
docs/judging.md."""


def number(value: float) -> Number:
    """Return `value`, or its word where it is not finite."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


@dataclass(frozen=True, slots=True)
class Worst:
    """The element that is furthest outside the bound, or the first of its kind."""

    group: int
    row: int
    col: int
    got: Number
    expected: Number


@dataclass(frozen=True, slots=True)
class Comparison:
    """Outputs against the float64 reference, over all groups and all calls of a case.

    Errors are taken over elements that are finite on both sides, against the reference as it rounds
    to float16, and null where there are elements, but no such one: an output that was never written
    is not 0 away from what it should be. `mismatched_elements` counts every element outside the
    bound, NaN and infinity included.
    """

    max_abs_error: float | None
    max_rel_error: float | None
    mismatched_elements: int
    non_finite_elements: int
    """Outputs that are NaN or infinite, expected or not."""
    bit_exact: bool
    worst: Worst | None
    """Null where everything is within the bound."""

    def __post_init__(self) -> None:
        """Keep non-finite numbers out of what becomes JSON.

        Raises:
            ValueError: an error figure is NaN or infinite.

        """
        for error in (self.max_abs_error, self.max_rel_error):
            if error is not None and not math.isfinite(error):
                raise ValueError("errors are taken over finite elements and must be finite")

    @property
    def within_bound(self) -> bool:
        """Whether every element passes."""
        return self.mismatched_elements == 0


@dataclass(frozen=True, slots=True)
class Range:
    """Some readings of one figure: lowest, median, highest."""

    least: float
    median: float
    most: float


@dataclass(frozen=True, slots=True)
class Telemetry:
    """What the device's driver said of it around the samples of a case, as NVML has it.

    Read between calls, when the device is ours and busy with checking: a hint at what it did in
    between. Power is the driver's own average over about a second.
    """

    readings: int
    sm_clock_mhz: Range
    memory_clock_mhz: Range
    temperature_c: Range
    power_w: Range
    throttle_reasons: tuple[str, ...]
    """What held the clocks down in any reading: `sw_power_cap`, `hw_thermal_slowdown`, ..."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a machine adds to every timed call, measured with kernels of our own."""

    overhead_us: float
    """Median of what the judge's clock says of a call beyond its events."""
    spread_us: float
    """p10..p90 of the overhead."""
    delta_us: float
    """How far wall and event may drift apart unexplained."""
    switch_us: float
    """What of the overhead is switching contexts from the judge's to the runner's and back."""
    copy_us_per_byte: float
    flush_us: float
    """All flushes before a call."""
    flush_bytes: int
    """What one of them writes: at least twice the L2."""
    hidden_us: float
    """How much launching hides behind the flushes and the switch."""
    samples: int
    measured_at: str
    """RFC 3339, UTC."""
    empty_us: float = 0.0
    """What events say of an empty kernel, the median of some processes."""

    def cover_us(self, size_bytes: int) -> float:
        """Return what copying operands and flushing takes when nobody else is on the device."""
        return self.flush_us + size_bytes * self.copy_us_per_byte


@dataclass(frozen=True, slots=True)
class Timing:
    """Device time of one case in microseconds, and how it was measured."""

    median_us: float
    p10_us: float
    p90_us: float
    samples: int
    method: str
    """`events`, or `wall` where the judge's clock said more than the events explain."""
    event_median_us: float
    wall_median_us: float
    """The event median plus the median of what the judge's clock says beyond it, call by call."""
    overhead_us: float
    """What calibration expects that to be."""
    end_to_end_us: float
    """Median of the judge's clock, the overhead included."""
    unstable: bool
    """The spread stayed wide, or something held the clocks down: see `telemetry`."""
    launch_bound: bool
    tflops: float
    gbytes_per_s: float
    speed_of_light_us: float
    fraction_of_speed_of_light: float
    samples_us: tuple[float, ...] = ()
    telemetry: Telemetry | None = None
    """Null where the driver tells nothing."""
    correction_us: float = 0.0
    """Taken off every sample: what an empty kernel took in this process, before the file was
    imported, beyond `calibration.empty_us`. It may be negative; `event_median_us` is without it."""

    def __post_init__(self) -> None:
        """Keep what is no duration out of what becomes JSON.

        Raises:
            ValueError: a figure is negative, NaN or infinite.

        """
        for name in ("median_us", "p10_us", "p90_us", "event_median_us", "wall_median_us"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} is no duration: {getattr(self, name)}")
