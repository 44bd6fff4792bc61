"""From the times of two sides to their ratio."""

import statistics
from collections.abc import Sequence
from dataclasses import replace

from kernels.measurement import Timing
from kernels.turns import Ratio, figures_of, least_effect, ratio_of


def ratio_between(cases: Sequence[Sequence[Timing]]) -> Ratio:
    """Return the ratio of some cases together, of each the times of A and of B.

    What is billed beyond the events comes in steps that hit one of two alike. So it can take a
    difference away, but makes none.
    """
    least = least_effect([min(a.event_median_us, b.event_median_us) for a, b in cases])
    by_events = ratio_of([figures_of(a.samples_us, b.samples_us) for a, b in cases], least)
    ratio = ratio_of([figures_of(billed_us(a), billed_us(b)) for a, b in cases], least)
    agreed = ratio.decision == by_events.decision
    return ratio if agreed else replace(ratio, decision="no_difference")


def billed_us(timing: Timing) -> list[float]:
    """Return the time of each call, with what the case is billed beyond its events."""
    beyond_us = timing.median_us - statistics.median(timing.samples_us)
    return [time_us + beyond_us for time_us in timing.samples_us]
