"""The leaderboard as a page: ranks, histories, and what is private on it."""

from contract.keys import Role
from contract.results import Results
from service.pages.history import history_of
from tests.contract.ranked import PROBLEM, ranked
from tests.service.conftest import serving
from tests.service.pages.reading import Page, page_at


async def test_a_board_shows_ranks_distances_and_whose_they_are(http, queue):
    for owner, score in (("ann", 20.0), ("bob", 25.0), ("ann", 30.0)):
        await ranked(queue, owner, score)
    text = (await page_at(http, "/leaderboard")).replace("\u202f", " ")
    assert f"{PROBLEM} on H200" in text
    assert text.index("ann") < text.index("20 µs") < text.index("bob") < text.index("25 µs")
    assert "+25 %" in text
    assert "30 µs" not in text
    assert "2 entries" in text


async def test_a_history_has_every_result_and_why_one_does_not_count(http, queue):
    await ranked(queue, "ann", 30.0)
    void = await ranked(queue, "ann", 10.0)
    await ranked(queue, "ann", 20.0)
    await Results(queue.store).disqualify(void.id, "<i>cached</i>", "root")
    text = (await page_at(http, "/leaderboard?owner=ann")).replace("\u202f", " ")
    assert "&lt;i&gt;cached&lt;/i&gt;" in text
    assert "by root" in text
    assert text.index("20 µs") < text.rindex("30 µs")
    assert Page(text).all("svg")[0]["role"] == "img"
    results, _ = await Results(queue.store).history(PROBLEM, "H200", "ann", 10)
    chart = history_of(results)
    assert [dot.counts for dot in chart.dots] == [True, False, True]
    # Lower is better and lies lower; the line passes by what does not count.
    assert chart.dots[0].y < chart.dots[2].y < chart.dots[1].y
    assert [y for _, y in chart.best] == [chart.dots[0].y] * 2 + [chart.dots[2].y] * 2
    assert history_of(results[:1]) is None


async def test_of_several_boards_one_is_chosen(http, queue):
    await ranked(queue, "ann", 20.0)
    await ranked(queue, "bob", 9.0, device="B200")
    text = await page_at(http, f"/leaderboard?problem={PROBLEM}&device=H200")
    assert "ann" in text
    assert "bob" not in text
    assert f"/leaderboard?problem={PROBLEM}&amp;device=B200" in text
    assert "no such board" in await page_at(http, "/leaderboard?device=abacus")
    await page_at(http, f"/leaderboard?problem={PROBLEM}&cursor=x", 422)


async def test_everybody_sees_the_board_and_only_owners_are_led_to_jobs(
    queue_settings, queue, keys
):
    _, ann = await keys.make("ann", Role.READ)
    _, bob = await keys.make("bob", Role.READ)
    job = await ranked(queue, "ann", 20.0)
    async with serving(queue_settings) as http:
        mine, others = [await page_at(http, "/leaderboard", headers=key) for key in (ann, bob)]
        assert f"/jobs/{job.id}" in mine
        assert ">you<" in mine
        assert f"/jobs/{job.id}" not in others
        assert "ann" in others
