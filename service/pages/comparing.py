"""Two jobs side by side: which cases they share, and the ratio of their medians.

What is told is what was measured, medians and spreads. It is no test of significance: samples of
two jobs were taken at different times, perhaps on different machines; see cautions.py.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from contract.verdict import CaseResult, Verdict
from service.pages.axes import Axis, Tick
from service.pages.words import percent

WIDTH = 480
LEFT, RIGHT = 70, 410
TOP, ROW, AXIS = 28, 34, 44


@dataclass(frozen=True, slots=True)
class Pair:
    """A case that both jobs ran."""

    a: CaseResult
    b: CaseResult

    @property
    def ratio(self) -> float | None:
        """The median of B over that of A: below 1 B is faster. None where one has no time."""
        if self.a.timing is None or self.b.timing is None or not self.a.timing.median_us:
            return None
        return self.b.timing.median_us / self.a.timing.median_us

    @property
    def apart(self) -> bool:
        """Whether the spreads, from p10 to p90, do not touch."""
        a, b = self.a.timing, self.b.timing
        return bool(a and b and (a.p90_us < b.p10_us or b.p90_us < a.p10_us))


@dataclass(frozen=True, slots=True)
class Bar:
    """A case in the picture: spreads of A and B over the median of A."""

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
    bottom: float
    height: float
    width: int = WIDTH
    left: int = LEFT
    right: int = RIGHT
    top: int = TOP


def pairs_of(a: Verdict, b: Verdict) -> Sequence[Pair]:
    """Return the cases of the same sizes and distribution, in the order of A."""
    left = list(b.cases)
    pairs = []
    for case in a.cases:
        twin = next((each for each in left if _asked(each) == _asked(case)), None)
        if twin is not None:
            left.remove(twin)
            pairs.append(Pair(case, twin))
    return pairs


def geomean_ratio(pairs: Sequence[Pair]) -> float | None:
    """Return the geometric mean of the ratios; None where there is none."""
    ratios = [pair.ratio for pair in pairs if pair.ratio]
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios)) if ratios else None


def in_words(ratio: float) -> str:
    """Say what a ratio of B to A means."""
    if abs(ratio - 1) < 5e-4:
        return "as much time as A"
    return f"{percent(abs(ratio - 1), 2)} {'less' if ratio < 1 else 'more'} time than A"


def ratios_of(pairs: Sequence[Pair]) -> Ratios | None:
    """Return the picture of the pairs that were timed; None where none was."""
    timed = [pair for pair in pairs if pair.ratio]
    if not timed:
        return None
    spreads = [_spreads(pair) for pair in timed]
    ends = [value for spread in spreads for value in spread]
    # At least five per cent to either side, so that noise looks like noise.
    low, high = min(*ends, 0.95), max(*ends, 1.05)
    axis = Axis(low / 1.02, high * 1.02, LEFT, RIGHT, logarithmic=high / low > 4)
    bottom = TOP + ROW * len(timed)
    return Ratios(
        title="Time of B over the median of A",
        bars=[
            _bar(pair, spread, axis, TOP + ROW * (place + 0.5))
            for place, (pair, spread) in enumerate(zip(timed, spreads, strict=True))
        ],
        one_x=axis.at(1),
        ticks=axis.ticks(5),
        bottom=bottom,
        height=bottom + AXIS,
    )


def _asked(case: CaseResult) -> object:
    return case.m, case.n, case.k, case.l, case.distribution


def _spreads(pair: Pair) -> tuple[float, float, float, float]:
    a, b = pair.a.timing, pair.b.timing
    assert a is not None
    assert b is not None
    one = a.median_us
    return a.p10_us / one, a.p90_us / one, b.p10_us / one, b.p90_us / one


def _bar(pair: Pair, spread: tuple[float, ...], axis: Axis, y: float) -> Bar:
    ratio = pair.ratio
    assert ratio is not None
    a_low, a_high, b_low, b_high = map(axis.at, spread)
    return Bar(
        label=f"Case {pair.a.index}",
        y=y,
        a_low=a_low,
        a_high=a_high,
        b_low=b_low,
        b_high=b_high,
        b_median=axis.at(ratio),
        ratio=f"{ratio:.3f}",
        text=f"Case {pair.a.index}: ratio {ratio:.4g}, B took {in_words(ratio)}",
    )
