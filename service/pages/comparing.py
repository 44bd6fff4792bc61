"""Two jobs side by side: which cases they share, and the ratio of their medians.

What is told is what was measured, medians and spreads. It is no test of significance: samples of
two jobs were taken at different times, perhaps on different machines; see cautions.py.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from contract.turns import LEAST_EFFECT, Ratio
from contract.verdict import CaseResult, Compared, Verdict
from service.pages.ratios import Ratios, Spread, draw
from service.pages.words import percent

_DECISIONS = {
    "faster": "B is faster",
    "slower": "B is slower",
    "no_difference": "no difference",
}


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
    """Return the picture of two jobs: spreads of samples, over the median of A."""
    spreads = [_spread(pair) for pair in pairs if pair.ratio]
    return draw("Time of B over the median of A", spreads)


def intervals_of(compared: Compared) -> Ratios | None:
    """Return the picture of a comparison in turns: intervals, and what is too little to count."""
    found = [("All cases", compared.overall)]
    found += [(f"Case {case.index}", case.ratio) for case in compared.cases]
    spreads = [
        Spread(
            label=label,
            a=(1 - LEAST_EFFECT, 1 + LEAST_EFFECT),
            b=(ratio.low, ratio.high),
            ratio=ratio.ratio,
            text=f"{label}: {decided(ratio)}",
        )
        for label, ratio in found
        if ratio is not None
    ]
    return draw("Time of B over time of A, with intervals of 99 percent", spreads)


def decided(ratio: Ratio) -> str:
    """Say what a comparison in turns found."""
    return f"{_DECISIONS[ratio.decision]}, {ratio.ratio:.4f} ({ratio.low:.4f} to {ratio.high:.4f})"


def _asked(case: CaseResult) -> object:
    return case.m, case.n, case.k, case.l, case.distribution


def _spread(pair: Pair) -> Spread:
    a, b, ratio = pair.a.timing, pair.b.timing, pair.ratio
    assert a is not None
    assert b is not None
    assert ratio is not None
    label, one = f"Case {pair.a.index}", a.median_us
    return Spread(
        label=label,
        a=(a.p10_us / one, a.p90_us / one),
        b=(b.p10_us / one, b.p90_us / one),
        ratio=ratio,
        text=f"{label}: ratio {ratio:.4g}, B took {in_words(ratio)}",
    )
