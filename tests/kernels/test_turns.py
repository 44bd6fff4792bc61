"""Ratios of calls in turns, against noise that is worse than a GPU's; all of it seeded."""

import math
import random
from collections.abc import Callable, Iterator

import pytest

from kernels.turns import (
    LEAST_ROUNDS,
    ORDERS,
    Ratio,
    figures_of,
    in_words,
    least_effect,
    ratio_of,
)

ROUNDS = 48
Noise = Callable[[random.Random], Iterator[float]]


def quiet(draw: random.Random) -> Iterator[float]:
    while True:
        yield draw.gauss(0, 0.005)


def drifting(draw: random.Random) -> Iterator[float]:
    """Twenty per cent slower within a job, as a device that gets warm."""
    for call in range(10**9):
        yield 0.002 * call + draw.gauss(0, 0.005)


def wandering(draw: random.Random) -> Iterator[float]:
    """Neighbouring calls are alike, over tens of calls."""
    level = 0.0
    while True:
        level = 0.97 * level + draw.gauss(0, 0.01)
        yield level


def warm_twice(draw: random.Random) -> Iterator[float]:
    """Who is called twice in a row is faster the second time: see `compared`."""
    yield from quiet(draw)


def two_clocks(draw: random.Random) -> Iterator[float]:
    """The clocks drop for a while, and some calls are hit by something else."""
    low = False
    while True:
        low ^= draw.random() < 0.02
        yield 0.08 * low + (0.5 if draw.random() < 0.02 else 0) + draw.gauss(0, 0.003)


NOISES = (quiet, drifting, wandering, warm_twice, two_clocks)


def compared(
    draw: random.Random,
    noise: Noise,
    slower: float = 1.0,
    cases: int = 1,
    usual_us: float = 50,
    apart_us: float = 0,
) -> Ratio:
    """Compare two that differ by a factor, in rounds of pairs, B in a process that adds a bit."""
    level, before = noise(draw), -1
    times: list[tuple[list[float], list[float]]] = [([], []) for _ in range(cases)]
    for _ in range(ROUNDS):
        for number, sides in enumerate(times):
            for side in draw.choice(ORDERS):
                warm = 0.98 if noise is warm_twice and side == before else 1.0
                before, time_us = side, usual_us * (1 + number) * math.exp(next(level)) * warm
                sides[side].append(time_us * slower + apart_us if side else time_us)
    least = least_effect([usual_us * (1 + number) for number in range(cases)])
    return ratio_of([figures_of(*sides) for sides in times], least)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("cases", [1, 4])
def test_the_same_twice_differs_once_in_a_hundred_times_at_most(noise: Noise, cases: int) -> None:
    draw = random.Random(1)
    found = [compared(draw, noise, cases=cases) for _ in range(800)]
    left_out = sum(not each.low <= 1 <= each.high for each in found)
    assert left_out <= 800 * 0.01 + 4 * math.sqrt(800 * 0.01 * 0.99)
    decided = sum(each.decision != "no_difference" for each in found)
    assert decided <= left_out


@pytest.mark.parametrize("noise", NOISES)
def test_five_per_cent_are_told_apart(noise: Noise) -> None:
    draw = random.Random(2)
    slower = [compared(draw, noise, 1.05, cases=2) for _ in range(200)]
    assert sum(each.decision == "slower" for each in slower) >= 190
    assert all(each.ratio == pytest.approx(1.05, abs=0.03) for each in slower)
    faster = compared(draw, noise, 1 / 1.05, cases=2)
    assert faster.decision == "faster"


@pytest.mark.parametrize("noise", [quiet, drifting])
def test_the_interval_has_what_is_true(noise: Noise) -> None:
    draw = random.Random(3)
    found = [compared(draw, noise, 1.05) for _ in range(400)]
    assert sum(each.low <= 1.05 <= each.high for each in found) >= 390


def test_less_than_one_per_cent_is_no_difference_however_sure_it_is() -> None:
    assert ratio_of([[math.log(1.009)] * ROUNDS]).decision == "no_difference"
    assert ratio_of([[math.log(1.011)] * ROUNDS]).decision == "slower"
    assert ratio_of([[math.log(0.989)] * ROUNDS]).decision == "faster"


@pytest.mark.parametrize("cases", [1, 4])
@pytest.mark.parametrize("usual_us", [17, 28, 100])
def test_what_one_process_has_and_another_has_not_is_no_difference(
    usual_us: float, cases: int
) -> None:
    """The widest that was seen on an H200, of six pairs, and the usual."""
    draw = random.Random(5)
    apart = [1.1, *(draw.gauss(0, 0.4) for _ in range(99))]
    same = [compared(draw, quiet, 1, cases, usual_us, each) for each in apart]
    assert sum(each.decision != "no_difference" for each in same) == 0
    assert usual_us < 30 or compared(draw, quiet, 1.05, cases, usual_us, 0.5).decision == "slower"


def test_the_least_effect_is_a_share_of_short_calls_and_one_per_cent_of_long_ones() -> None:
    assert least_effect([30.0]) == pytest.approx(0.05)
    assert least_effect([1000.0]) == 0.01
    assert least_effect([30.0, 15.0]) == pytest.approx(0.075)


def test_a_round_is_the_geometric_mean_of_its_cases() -> None:
    found = ratio_of([[math.log(2)] * 8, [math.log(0.5)] * 8])
    assert (found.ratio, found.low, found.high) == (1, 1, 1)


@pytest.mark.parametrize(
    ("rounds", "out"), [(8, 0), (11, 0), (12, 1), (24, 5), (48, 14), (100, 36)]
)
def test_the_ends_are_those_of_the_sign_test(rounds: int, out: int) -> None:
    """As in tables of the sign test at one per cent, two-sided."""
    figures = [0.001 * number for number in range(rounds)]
    found = ratio_of([random.Random(4).sample(figures, rounds)])
    assert found.low == math.exp(figures[out])
    assert found.high == math.exp(figures[-1 - out])


def test_words() -> None:
    assert in_words(Ratio(1.0021, 0.9981, 1.0059, 24, "no_difference")) == (
        "no difference (B over A: 1.002, 99 % interval 0.998 to 1.006)"
    )
    assert in_words(Ratio(1.0503, 1.049, 1.0517, 24, "slower")) == (
        "B is slower: it takes 5.0 % more time than A "
        "(B over A: 1.050, 99 % interval 1.049 to 1.052)"
    )
    assert "B is faster: it takes 20.0 % less time" in in_words(Ratio(0.8, 0.7, 0.9, 24, "faster"))


@pytest.mark.parametrize(("a_us", "b_us"), [([1.0], []), ([1.0], [0.0]), ([math.inf], [1.0])])
def test_what_is_no_pair_of_durations_is_refused(a_us: list[float], b_us: list[float]) -> None:
    with pytest.raises(ValueError, match=r"positive|shorter"):
        figures_of(a_us, b_us)


def test_too_few_rounds_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 8 rounds"):
        ratio_of([[0.0] * (LEAST_ROUNDS - 1)])
