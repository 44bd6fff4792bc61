"""The roofline: how fast each case ran, under what its device can do at best.

A case lies at its arithmetic intensity, the operations it needs for each byte that has to cross the
memory bus. The roof is bandwidth where that is low and arithmetic where it is high; the line from a
case up to the roof is its distance to the speed of light.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from contract.roofline import Rates, find_device
from contract.verdict import CaseResult, Verdict
from service.pages.axes import Axis, Frame, Tick
from service.pages.words import figure, percent

FRAME = Frame(width=480, height=350, left=54, right=466, top=22, bottom=286)
_TERA, _GIGA = 1e12, 1e9


@dataclass(frozen=True, slots=True)
class Point:
    """A timed case."""

    index: int
    x: float
    y: float
    roof_y: float | None
    """Where the roof is above it; None where the device's rates are not known."""
    text: str


@dataclass(frozen=True, slots=True)
class Roofline:
    """What is drawn; lengths in the units of the picture."""

    title: str
    points: Sequence[Point]
    roof: Sequence[tuple[float, float]]
    """Corners of the roof, from left to right; none where the rates are not known."""
    roof_text: str
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    frame: Frame = FRAME


def roofline_of(verdict: Verdict) -> Roofline | None:
    """Return the picture of a verdict; None where nothing was timed, or nothing was computed."""
    cases = [case for case in verdict.cases if case.timing and case.timing.tflops > 0]
    if not cases:
        return None
    device = find_device(verdict.environment.gpu or verdict.environment.device)
    rates = device.attainable if device else None
    x, y = _axes(cases, rates)
    measured = (
        "measured rates" if device and device.measured else "the vendor's rates, not measured"
    )
    return Roofline(
        title=f"Roofline on {verdict.environment.gpu or verdict.environment.device}",
        points=[_point(case, x, y) for case in cases],
        roof=_roof(rates, x, y) if rates else (),
        roof_text=(
            f"{figure(rates.flops_per_s / _TERA)} TFLOP/s and "
            f"{figure(rates.bytes_per_s / _TERA)} TB/s, {measured}"
            if rates
            else "the rates of this device are not known"
        ),
        x_ticks=x.ticks(6),
        y_ticks=y.ticks(6),
    )


def _intensity(case: CaseResult) -> float:
    """Return operations a byte."""
    assert case.timing is not None
    return case.timing.tflops * _TERA / (case.timing.gbytes_per_s * _GIGA)


def _axes(cases: Sequence[CaseResult], rates: Rates | None) -> tuple[Axis, Axis]:
    """Return axes that hold all cases, the ridge and the top of the roof, with some room."""
    xs = [_intensity(case) for case in cases]
    ys = [case.timing.tflops for case in cases if case.timing]
    if rates:
        xs.append(rates.flops_per_s / rates.bytes_per_s)
        ys.append(rates.flops_per_s / _TERA)
    x = Axis(min(xs) / 2.5, max(xs) * 2.5, FRAME.left, FRAME.right, logarithmic=True)
    y = Axis(min(ys) / 2, max(ys) * 1.5, FRAME.bottom, FRAME.top, logarithmic=True)
    return x, y


def _point(case: CaseResult, x: Axis, y: Axis) -> Point:
    timing, intensity = case.timing, _intensity(case)
    assert timing is not None
    share = timing.fraction_of_speed_of_light
    reached = f", {percent(share)} of the speed of light" if share else ""
    return Point(
        index=case.index,
        x=x.at(intensity),
        y=y.at(timing.tflops),
        roof_y=y.at(timing.tflops / share) if share else None,
        text=(
            f"Case {case.index}: {figure(timing.tflops)} TFLOP/s at {figure(intensity)} FLOP/byte"
            f"{reached}"
        ),
    )


def _roof(rates: Rates, x: Axis, y: Axis) -> Sequence[tuple[float, float]]:
    ridge = rates.flops_per_s / rates.bytes_per_s
    top = rates.flops_per_s / _TERA
    # The slope starts where it enters the picture: at its left edge, or at its lower one.
    low_x = max(x.low, y.low * ridge / top)
    return (
        (x.at(low_x), y.at(top * low_x / ridge)),
        (x.at(ridge), y.at(top)),
        (x.at(x.high), y.at(top)),
    )
