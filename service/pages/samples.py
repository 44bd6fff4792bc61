"""The distribution of samples: a histogram a case, or two back to back where two jobs compare."""

from collections.abc import Sequence
from dataclasses import dataclass

from contract.verdict import CaseResult, Verdict
from service.pages.axes import Axis, Frame, Tick
from service.pages.words import count, extents, figure, micros

WIDTH = 480
LEFT, RIGHT = 12, 468
TEXT_LINE, SIDE, AXIS, GAP = 20, 46, 24, 18
"""Heights: of a line of text, of one side of a histogram, of the axis, between two cases."""
BINS = 48
REACH = 1.5
"""Shown beyond p10 and p90, in widths between them: stragglers do not press all others together."""
UNIT_WIDTH = 34

Named = tuple[str, CaseResult]


@dataclass(frozen=True, slots=True)
class Side:
    """One job's samples of a case."""

    name: str
    bars: Sequence[tuple[float, float, float, float]]
    """x, y, width and height of each."""
    median_x: float
    p10_x: float
    p90_x: float
    edge: float
    """The end of the median's line away from the base."""
    band_y: float
    beyond: int
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """A case: what is written over it, and the line its bars stand on or hang from."""

    label: str
    beyond: int
    """Samples that lie outside of the picture."""
    top: float
    base: float
    axis_y: float
    sides: Sequence[Side]
    ticks: Sequence[Tick]

    @property
    def text(self) -> str:
        """What the picture says, for who does not see it."""
        left_out = (f"{self.beyond} samples lie beyond",) if self.beyond else ()
        return "; ".join((self.label, *(side.text for side in self.sides), *left_out))


@dataclass(frozen=True, slots=True)
class Histograms:
    """What is drawn; lengths in the units of the picture."""

    title: str
    rows: Sequence[Row]
    frame: Frame
    text_line: int = TEXT_LINE


def samples_of(verdict: Verdict) -> Histograms | None:
    """Return the picture of a verdict; None where nothing was timed."""
    return histograms("Samples of each case", [(("", case),) for case in verdict.cases])


def histograms(title: str, cases: Sequence[Sequence[Named]]) -> Histograms | None:
    """Return the picture of cases, each by one job or by two; None where none was timed.

    The samples of a case share an axis, so that a shift is a shift; it does not start at zero.
    """
    rows, top = [], 0.0
    for sides in cases:
        if all(case.timing is not None for _, case in sides):
            rows.append(_row(sides, top))
            top = rows[-1].axis_y + AXIS + GAP
    height = top - GAP
    frame = Frame(WIDTH, height, LEFT, RIGHT, top=0, bottom=height)
    return Histograms(title, rows, frame) if rows else None


def _row(sides: Sequence[Named], top: float) -> Row:
    axis = _axis(sides)
    base = top + TEXT_LINE * (1 + len(sides)) + 4 + SIDE
    case = sides[0][1]
    drawn = [_side(name, each, axis, base, up=not at) for at, (name, each) in enumerate(sides)]
    return Row(
        label=(
            f"Case {case.index}: {count(case)}, "
            f"m {extents(case.m)}, n {extents(case.n)}, k {extents(case.k)}"
        ),
        top=top,
        base=base,
        axis_y=base + (SIDE if len(sides) > 1 else 0) + 8,
        sides=drawn,
        beyond=sum(side.beyond for side in drawn),
        ticks=[tick for tick in axis.ticks(7) if tick.at < RIGHT - UNIT_WIDTH],
    )


def _axis(sides: Sequence[Named]) -> Axis:
    lows, highs = [], []
    for _, case in sides:
        timing = case.timing
        assert timing is not None
        times = timing.samples_us or (timing.p10_us, timing.p90_us)
        reach = REACH * (timing.p90_us - timing.p10_us)
        lows.append(max(min(times), timing.p10_us - reach))
        highs.append(min(max(times), timing.p90_us + reach))
    low, high = min(lows), max(highs)
    room = (high - low) * 0.04 or high * 0.01 or 1.0
    return Axis(max(0.0, low - room), high + room, LEFT, RIGHT)


def _side(name: str, case: CaseResult, axis: Axis, base: float, *, up: bool) -> Side:
    timing = case.timing
    assert timing is not None
    counts = [0] * BINS
    beyond = 0
    for time_us in timing.samples_us:
        share = (time_us - axis.low) / (axis.high - axis.low)
        if 0 <= share < 1:
            counts[int(BINS * share)] += 1
        else:
            beyond += 1
    width, tallest = (RIGHT - LEFT) / BINS, max((*counts, 1))
    bars = []
    for place, inside in enumerate(counts):
        height = round(SIDE * inside / tallest, 1)
        if inside:
            y = base - height if up else base
            bars.append((round(LEFT + width * place, 1), y, round(width - 1, 1), height))
    return Side(
        name=name,
        bars=bars,
        median_x=axis.at(timing.median_us),
        p10_x=axis.at(timing.p10_us),
        p90_x=axis.at(timing.p90_us),
        edge=base - SIDE - 3 if up else base + SIDE + 3,
        band_y=base - 1.5 if up else base + 1.5,
        beyond=beyond,
        text=(
            f"{name + ': ' if name else ''}median {micros(timing.median_us)}, p10\N{EN DASH}p90 "
            f"{figure(timing.p10_us, 4)}\N{EN DASH}{micros(timing.p90_us)}"
            f"{'' if name else f', {timing.samples} samples'}"
        ),
    )
