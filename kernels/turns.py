"""Which of two is faster: from times of calls made in turns to a ratio with an interval.

Theory of operation
    A *pair* is a call of each on the same operands, A first or B first, as a coin has it; its
    figure is the log of B's time over A's. A *round* is a pair of each case, and its figure the
    mean of theirs: the log of a geometric mean. The ratio is the median over the rounds, and the
    interval lies between two figures that are so far out that the median is beyond them once in a
    hundred times at most.

    Where A and B are the same, nothing but the coin decides the sign of a round's figure, whatever
    clocks, heat and neighbours did, and for how long. So the interval leaves out 1 once in a
    hundred times at most, however the noise is shaped and however it hangs together: this is the
    sign test, turned round. Figures that are far out weigh no more than others. It needs the coin,
    and a number of rounds that does not follow from what was seen.

    The interval knows the noise of calls. It does not know what one process has throughout and the
    next one has not, such as whether a copy in the call is noticed a moment sooner or later: for
    that, less than `LEAST_EFFECT` is no difference, nor is less than `LEAST_EFFECT_US`, whatever
    the interval says.

Standard library only.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

ORDERS: Final = ((0, 1), (1, 0))
"""Whose turn it is in a pair, 0 for A: to be drawn for each pair, either as likely."""
CONFIDENCE: Final = 0.99
LEAST_EFFECT: Final = 0.01
LEAST_EFFECT_US: Final = 1.5
"""Two processes of one file were up to 1.1 us apart on an H200, for as long as they lived."""
LEAST_ROUNDS: Final = 8
"""With fewer there is no interval of this confidence."""

Decision = Literal["faster", "slower", "no_difference"]
"""What B is."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """The time of B over that of A, with an interval of 99 %."""

    ratio: float
    low: float
    high: float
    rounds: int
    decision: Decision
    """`no_difference` where the interval includes 1, or the effect is too small to be one."""


def figures_of(a_us: Sequence[float], b_us: Sequence[float]) -> list[float]:
    """Return the figure of each pair.

    Raises:
        ValueError: there are not equally many of both, or one is no positive duration.

    """
    if not all(0 < time_us < math.inf for time_us in (*a_us, *b_us)):
        raise ValueError("durations are positive and finite")
    return [math.log(b / a) for a, b in zip(a_us, b_us, strict=True)]


def least_effect(times_us: Sequence[float]) -> float:
    """Return what is too small to be a difference, as a share of the time of some cases."""
    return max(LEAST_EFFECT, statistics.fmean(LEAST_EFFECT_US / time_us for time_us in times_us))


def ratio_of(cases: Sequence[Sequence[float]], least: float = LEAST_EFFECT) -> Ratio:
    """Return the ratio of some cases together, from the figures of their pairs, round by round.

    Less than the share `least` is no difference.

    Raises:
        ValueError: there are fewer than `LEAST_ROUNDS`, or not equally many of each case.

    """
    rounds = sorted(statistics.fmean(figures) for figures in zip(*cases, strict=True))
    if len(rounds) < LEAST_ROUNDS:
        raise ValueError(f"at least {LEAST_ROUNDS} rounds, got {len(rounds)}")
    out = _left_out(len(rounds))
    ratio = math.exp(statistics.median(rounds))
    low, high = math.exp(rounds[out]), math.exp(rounds[-1 - out])
    if low <= 1 <= high or abs(ratio - 1) < least:
        return Ratio(ratio, low, high, len(rounds), "no_difference")
    return Ratio(ratio, low, high, len(rounds), "faster" if ratio < 1 else "slower")


def in_words(found: Ratio) -> str:
    """Say what a ratio means, and how sure that is."""
    sure = f"{found.ratio:.3f}, 99 % interval {found.low:.3f} to {found.high:.3f}"
    if found.decision == "no_difference":
        return f"no difference (B over A: {sure})"
    apart = f"{100 * abs(found.ratio - 1):.1f} %"
    than = "less" if found.decision == "faster" else "more"
    return f"B is {found.decision}: it takes {apart} {than} time than A (B over A: {sure})"


def _left_out(count: int) -> int:
    """Return how many figures at either end may lie outside of the interval.

    The median is beyond the interval where as many tosses of a coin, or fewer, come up heads.
    """
    beyond = 0
    for heads in range(count):
        beyond += math.comb(count, heads)
        if 2 * beyond > (1 - CONFIDENCE) * 2**count:
            return heads - 1
    raise AssertionError("half of all tosses are heads")
