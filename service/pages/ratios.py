"""The picture of a comparison: how B lies beside A, case by case, around the ratio 1."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from service.pages.axes import Axis, Frame, Tick

WIDTH = 480
LEFT, RIGHT = 84, 410
TOP, ROW, AXIS = 28, 34, 44
NOISE = 0.05
"""Shown to either side of 1 at least, so that noise looks like noise."""


class Spread(NamedTuple):
    """A row: two ranges around a ratio."""

    label: str
    a: tuple[float, float]
    b: tuple[float, float]
    ratio: float
    text: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A row as it is drawn."""

    label: str
    y: float
    a_low: float
    a_high: float
    b_low: float
    b_high: float
    b_median: float
    ratio: str
    text: str


@dataclass(frozen=True, slots=True)
class Ratios:
    """What is drawn; lengths in the units of the picture."""

    title: str
    bars: Sequence[Bar]
    one_x: float
    ticks: Sequence[Tick]
    frame: Frame


def draw(title: str, spreads: Sequence[Spread]) -> Ratios | None:
    """Return the picture; None of nothing."""
    if not spreads:
        return None
    ends = [value for spread in spreads for value in (*spread.a, *spread.b)]
    low, high = min(*ends, 1 - NOISE), max(*ends, 1 + NOISE)
    axis = Axis(low / 1.01, high * 1.01, LEFT, RIGHT, logarithmic=high / low > 4)
    bottom = TOP + ROW * len(spreads)
    return Ratios(
        title=title,
        bars=[_bar(spread, axis, TOP + ROW * (at + 0.5)) for at, spread in enumerate(spreads)],
        one_x=axis.at(1),
        ticks=axis.ticks(5),
        frame=Frame(WIDTH, bottom + AXIS, LEFT, RIGHT, TOP, bottom),
    )


def _bar(spread: Spread, axis: Axis, y: float) -> Bar:
    return Bar(
        label=spread.label,
        y=y,
        a_low=axis.at(spread.a[0]),
        a_high=axis.at(spread.a[1]),
        b_low=axis.at(spread.b[0]),
        b_high=axis.at(spread.b[1]),
        b_median=axis.at(spread.ratio),
        ratio=f"{spread.ratio:.3f}",
        text=spread.text,
    )
