"""Two jobs side by side: cases that belong together, ratios, and differences of files."""

import asyncio

import pytest

from contract.verdict import Passed
from service.pages.cautions import of_times
from service.pages.comparing import geomean_ratio, in_words, intervals_of, pairs_of, ratios_of
from service.pages.difference_finder import Differences
from tests.service.pages.found import FILE, V1, V2, clocked, finished, hostile, in_turns, timed
from tests.service.pages.reading import page_at


def reordered(verdict: Passed, *order: int) -> Passed:
    return verdict.model_copy(update={"cases": tuple(verdict.cases[at] for at in order)})


def test_cases_belong_together_by_what_was_asked_and_not_by_their_place():
    pairs = pairs_of(V1, reordered(V2, 2, 0, 3))
    assert [(pair.a.index, pair.b.index) for pair in pairs] == [(0, 0), (2, 2), (3, 3)]
    twice = reordered(V1, 0, 0)
    assert len(pairs_of(twice, V2)) == 1
    assert len(pairs_of(twice, twice)) == 2
    assert pairs_of(V1, hostile()) == []


def test_a_ratio_is_that_of_the_medians_of_b_over_a():
    pairs = pairs_of(V1, V2)
    for pair, expected in zip(pairs, (371 / 412, 186 / 190, 55 / 61, 38.3 / 38.4), strict=True):
        assert pair.ratio == pytest.approx(expected, rel=0.01)
    assert [pair.apart for pair in pairs] == [True, False, True, False]
    overall = geomean_ratio(pairs)
    assert overall == pytest.approx(V2.score.geomean_us / V1.score.geomean_us)
    assert geomean_ratio(pairs_of(V2, V1)) == pytest.approx(1 / overall)
    assert geomean_ratio(()) is None


@pytest.mark.parametrize(
    ("ratio", "said"),
    [(0.9, "10 % less"), (1.25, "25 % more"), (2.5, "150 % more"), (1.0001, "as much time as A")],
)
def test_a_ratio_in_words(ratio, said):
    assert said in in_words(ratio).replace("\u202f", " ")


def test_in_the_picture_faster_is_to_the_left_and_one_is_in_it():
    chart = ratios_of(pairs_of(V1, V2))
    assert chart.frame.left < chart.one_x < chart.frame.right
    for bar in chart.bars:
        assert bar.b_low <= bar.b_median <= bar.b_high
        assert bar.a_low < chart.one_x < bar.a_high
    assert all(bar.b_median < chart.one_x for bar in chart.bars[:3])
    turned = ratios_of(pairs_of(V2, V1))
    assert all(bar.b_median > turned.one_x for bar in turned.bars[:3])


def test_a_hundredfold_difference_can_be_drawn():
    chart = ratios_of(pairs_of(V1, timed((4, 19000, 61, 38))))
    assert [tick.at for tick in chart.ticks] == sorted(tick.at for tick in chart.ticks)
    assert (
        chart.frame.left
        < chart.bars[0].b_median
        < chart.one_x
        < chart.bars[1].b_median
        < chart.frame.right
    )


def test_nothing_is_drawn_of_what_was_not_timed():
    assert ratios_of(pairs_of(hostile(), hostile())) is None


async def test_the_page_says_which_is_faster_and_where_samples_touch(http, queue):
    a = await finished(queue, V1)
    b = await finished(queue, V2, source=FILE.replace(b"data[2]", b"data[3]"))
    text = (await page_at(http, f"/compare?a={a}&b={b}")).replace("\u202f", " ")
    less = 100 * (1 - V2.score.geomean_us / V1.score.geomean_us)
    assert f"B takes {less:.2g} % less time than A" in text
    assert "spreads of samples touch in 2 of 4" in text
    assert "Is B faster?" in text
    removed, added = text.index("return data[2]"), text.index("return data[3]")
    assert text.rindex('<tr class="', 0, removed) == text.rindex('<tr class="removed"', 0, removed)
    assert text.rindex('<tr class="', 0, added) == text.rindex('<tr class="added"', 0, added)


async def test_the_page_says_what_makes_a_comparison_weak(http, queue):
    elsewhere = V2.environment.model_copy(
        update={"gpu": "NVIDIA B200", "device": "B200", "torch": "2.12.0"}
    )
    a = await finished(queue, V1)
    b = await finished(queue, V2.model_copy(update={"environment": elsewhere}))
    text = await page_at(http, f"/compare?a={a}&b={b}")
    assert "A ran on NVIDIA H200, B on NVIDIA B200." in text
    assert "Versions of torch, Triton or the driver differ." in text
    assert "The files are the same" in text
    wrong = await finished(queue, hostile())
    assert "no case in common" in await page_at(http, f"/compare?a={a}&b={wrong}")
    queued = (await http.post("/v1/jobs", json={})).json()["id"]
    text = await page_at(http, f"/compare?a={a}&b={queued}")
    assert "Only jobs with a verdict" in text


def test_clocks_that_were_held_down_or_apart_are_told():
    free, held = clocked(V1, 1980, ()), clocked(V1, 1700, ("sw_power_cap",))
    said = " ".join(of_times(pairs_of(free, held)))
    assert "The clocks of B were held down: sw_power_cap." in said
    assert "at 1980 MHz for A and at 1700 MHz for B" in said
    assert "clocks of A" not in said
    assert list(of_times(pairs_of(free, free))) == []


@pytest.mark.parametrize(
    ("ratio", "decision", "heading"),
    [
        (0.93, "faster", "B is faster"),
        (1.06, "slower", "B is slower"),
        (1.001, "no_difference", "No difference"),
    ],
)
async def test_a_comparison_in_turns_says_what_was_decided(http, queue, ratio, decision, heading):
    job = await finished(queue, in_turns(ratio, decision))
    text = await page_at(http, f"/jobs/{job}")
    assert f'<h2 id="compared-title">{heading}</h2>' in text
    assert "with intervals of 99 percent" in text
    assert "A above and B below" in text
    assert "B speaks" in text
    chart = intervals_of(in_turns(ratio, decision).compared)
    assert [bar.label for bar in chart.bars] == ["All cases", *(f"Case {at}" for at in range(4))]
    for bar in chart.bars:
        assert bar.b_low < bar.b_median < bar.b_high
        beside = bar.b_high < bar.a_low or bar.b_low > bar.a_high
        assert beside == (decision != "no_difference")


async def test_a_difference_has_the_numbers_of_both_files():
    a = "".join(f"line {number}\n" for number in range(1, 31)).encode()
    b = a.replace(b"line 15\n", b"line fifteen\nand more\n")
    lines = await Differences().of(a, b)
    changed = [line for line in lines if line.kind not in ("same", "gap")]
    assert [tuple(line) for line in changed] == [
        ("removed", 15, None, "line 15"),
        ("added", None, 15, "line fifteen"),
        ("added", None, 16, "and more"),
    ]
    assert [line.kind for line in lines if line.kind == "gap"] == ["gap", "gap"]
    assert [line.a for line in lines if line.kind == "same"] == [12, 13, 14, 16, 17, 18]
    assert await Differences().of(a, a) == []
    assert await Differences().of(b"\xff\n", b"\xfe\n") == []


async def test_files_made_to_be_hard_to_compare_are_given_up_and_wait_for_each_other():
    # Few distinct lines, each below the share at which difflib takes them for junk.
    a = "".join(f"{number % 101}\n" for number in range(100_000)).encode()
    b = "".join(f"{number % 103}\n" for number in range(100_000)).encode()
    differences = Differences(at_once=1, limit_s=0.3)
    assert await asyncio.gather(*(differences.of(a, b) for _ in range(4))) == [None] * 4
    assert await Differences(at_once=1).of(b"a\n", b"a\n") == []
