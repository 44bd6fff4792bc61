"""From samples to a time: what an honest kernel gets, and what a forger does not."""

from dataclasses import replace

import pytest

from kernels.measurement import DELTA_US, Calibration, Range, Telemetry
from kernels.problem import Case
from kernels.problems import NVFP4_GROUP_GEMM
from worker.sampling import MOST_DELTAS, Baseline, Sample, timing_of
from worker.weighing import billed_us

WORK = NVFP4_GROUP_GEMM.work(Case(m=(128,), n=(4096,), k=(7168,)))
DEVICE = "NVIDIA H200"
OVERHEAD_US = 174.0
CALIBRATION = Calibration(
    overhead_us=OVERHEAD_US,
    spread_us=5.0,
    delta_us=DELTA_US,
    switch_us=160.0,
    copy_us_per_byte=1e-6,
    flush_us=480.0,
    flush_bytes=256 << 20,
    hidden_us=600.0,
    samples=60,
    measured_at="2026-01-01T00:00:00+00:00",
)


def samples(event_us: float, true_us: float, count: int = 20, host_us: float = 50) -> list[Sample]:
    return [Sample(event_us, true_us + OVERHEAD_US, host_us) for _ in range(count)]


def test_an_honest_time_is_the_median_of_its_events() -> None:
    timing, failure = timing_of(samples(100, 100), WORK, DEVICE, CALIBRATION)
    assert failure is None
    assert timing.median_us == 100
    assert timing.method == "events"
    assert timing.tflops == pytest.approx(WORK.flops / 100e6)
    assert not timing.unstable
    assert not timing.launch_bound


@pytest.mark.parametrize("drift_us", [-20, 0, DELTA_US])
def test_what_the_clocks_drift_apart_by_chance_costs_nothing(drift_us: float) -> None:
    timing, failure = timing_of(samples(100, 100 + drift_us), WORK, DEVICE, CALIBRATION)
    assert failure is None
    assert timing.median_us == 100


def test_events_that_are_a_little_too_short_gain_no_more_than_delta() -> None:
    timing, failure = timing_of(samples(100, 100 + 2 * DELTA_US), WORK, DEVICE, CALIBRATION)
    assert failure is None
    assert timing.median_us == 100 + DELTA_US
    assert timing.method == "wall"


def test_forged_events_are_rejected() -> None:
    short_us = MOST_DELTAS * DELTA_US + 1
    timing, failure = timing_of(samples(100 - short_us, 100), WORK, DEVICE, CALIBRATION)
    assert failure is not None
    assert (failure.outcome, failure.reason) == ("rejected", "forged_clock")
    assert timing.median_us == pytest.approx(100 - DELTA_US)


def test_of_a_long_call_more_may_be_unexplained_and_all_of_it_is_billed() -> None:
    """A stream a group was 46.7 us apart in 6433 us on an H200."""
    timing, failure = timing_of(samples(6386.4, 6433.1), WORK, DEVICE, CALIBRATION)
    assert failure is None
    assert timing.median_us == pytest.approx(6433.1 - DELTA_US)
    forged, failure = timing_of(samples(6300, 6433.1), WORK, DEVICE, CALIBRATION)
    assert failure is not None
    assert failure.reason == "forged_clock"
    assert "133.1 us are unexplained, 128.7 may be" in failure.message
    assert forged.median_us == pytest.approx(6433.1 - DELTA_US)


def test_a_noisy_long_kernel_is_no_forger() -> None:
    """The medians of its events and of its walls are far apart; no single call is."""
    events = [5000.0 + 400 * (i % 7) for i in range(21)]
    noisy = [Sample(e, e + OVERHEAD_US + (i % 3 - 1) * 5, 50) for i, e in enumerate(events)]
    timing, failure = timing_of(noisy, WORK, DEVICE, CALIBRATION)
    assert failure is None
    assert timing.median_us == sorted(events)[10]
    assert timing.unstable


def test_a_time_below_what_physics_allows_is_rejected() -> None:
    timing, failure = timing_of(samples(3, 3), WORK, DEVICE, CALIBRATION)
    assert failure is not None
    assert failure.reason == "below_floor"
    assert timing.fraction_of_speed_of_light > 1


def test_launching_that_does_not_hide_is_flagged() -> None:
    timing, _ = timing_of(samples(100, 100, host_us=700), WORK, DEVICE, CALIBRATION)
    assert timing.launch_bound


@pytest.mark.parametrize("beyond_us", [-0.5, 0, 0.75])
def test_what_the_process_adds_is_taken_off_every_sample(beyond_us: float) -> None:
    calibration = replace(CALIBRATION, empty_us=2.75)
    found = Baseline(2.75 + beyond_us, 0.1)
    timing, failure = timing_of(
        samples(100, 100), WORK, DEVICE, calibration, telemetry(), baseline=found
    )
    assert failure is None
    assert timing.correction_us == beyond_us
    assert timing.event_median_us == 100
    assert timing.median_us == timing.p10_us == timing.p90_us == 100 - beyond_us
    assert set(timing.samples_us) == {100 - beyond_us}
    assert timing.wall_median_us == 100 + OVERHEAD_US
    assert not timing.unstable


def test_whether_a_time_is_believed_goes_by_the_events_as_they_are() -> None:
    calibration, adds = replace(CALIBRATION, empty_us=2.75), Baseline(4.75, 0.1)
    at_most = samples(100, 100 + DELTA_US)
    timing, _ = timing_of(at_most, WORK, DEVICE, calibration, baseline=adds)
    assert (timing.method, timing.median_us) == ("events", 98)
    billed = samples(100, 100 + DELTA_US + 1)
    timing, _ = timing_of(billed, WORK, DEVICE, calibration, baseline=adds)
    assert (timing.method, timing.median_us) == ("wall", 99)
    assert billed_us(timing) == [99] * len(billed)


@pytest.mark.parametrize("found", [Baseline(2.75, 1.5), Baseline(6.5, 0.1)])
def test_a_baseline_that_says_nothing_changes_nothing_and_is_flagged(found: Baseline) -> None:
    calibration = replace(CALIBRATION, empty_us=2.75)
    timing, failure = timing_of(samples(100, 100), WORK, DEVICE, calibration, baseline=found)
    assert failure is None
    assert (timing.median_us, timing.correction_us, timing.unstable) == (100, 0, True)


def test_no_sample_falls_to_nothing() -> None:
    calibration, adds = replace(CALIBRATION, empty_us=2.75), Baseline(4.75, 0.1)
    timing, _ = timing_of(samples(1.5, 1.5), WORK, DEVICE, calibration, baseline=adds)
    assert min(timing.samples_us) > 0
    assert timing.correction_us == 2


def telemetry(*reasons: str) -> Telemetry:
    cool = Range(40, 41, 42)
    return Telemetry(20, Range(1500, 1700, 1980), Range(3201, 3201, 3201), cool, cool, reasons)


def test_clocks_that_were_held_down_make_a_time_unstable() -> None:
    """However narrow the spread: it would be another one on a cooler day."""
    for reasons, unstable in ((), False), (("sw_power_cap",), True):
        found = telemetry(*reasons)
        timing, failure = timing_of(samples(100, 100), WORK, DEVICE, CALIBRATION, found)
        assert failure is None
        assert (timing.unstable, timing.telemetry) == (unstable, found)
