"""Leaderboards: who stands where, and what counts."""

import asyncio
from dataclasses import replace

import pytest

from contract.errors import InvalidSubmission
from contract.leaderboard import Leaderboards
from contract.queue import JobQueue
from contract.ranking import why_not
from contract.results import Results
from contract.settings import QueueSettings
from contract.submission import Mode
from contract.verdict import Crashed
from tests.contract.examples import submission
from tests.contract.ranked import GPU_WORKER, PROBLEM, RANKED, ranked, standing, timed
from tests.contract.severed import SeveredRoad

THIRD = 1 / 3
"""A score whose digits do not end."""


@pytest.fixture
def boards(queue: JobQueue) -> Leaderboards:
    return Leaderboards(queue.store)


async def test_each_owner_stands_once_with_its_best(queue, boards):
    for owner, score in (("ann", 30.0), ("bob", 20.0), ("ann", 10.0 + THIRD), ("ann", 15.0)):
        await ranked(queue, owner, score)
    assert await standing(boards) == [(1, "ann", 10.0 + THIRD), (2, "bob", 20.0)]


async def test_an_entry_tells_the_job_and_its_times(queue, boards):
    job = await ranked(queue, "ann", 10.0)
    (entry,) = (await boards.page(PROBLEM, "H200")).entries
    ended = await queue.get(job.id)
    assert (entry.job, entry.created_at, entry.finished_at) == (
        job.id,
        ended.created_at,
        ended.finished_at,
    )


async def test_of_equal_scores_the_one_sent_first_stands_first(queue, boards):
    early = await queue.submit(RANKED, "early")
    late = await queue.submit(RANKED, "late")
    first, second = [await queue.claim(GPU_WORKER, 0) for _ in range(2)]
    for lease in sorted((first, second), key=lambda lease: -lease.job.number):
        await queue.finish(lease, timed(THIRD))
    page = await boards.page(PROBLEM, "H200")
    assert [entry.job for entry in page.entries] == [early.id, late.id]


async def test_devices_and_owners_do_not_mix(queue, boards):
    await ranked(queue, "ann", 10.0)
    await ranked(queue, "ann", 12.0, device="B200")
    assert await standing(boards, "B200") == [(1, "ann", 12.0)]
    assert [
        (each.device, each.entries, each.best.geomean_us) for each in await boards.boards()
    ] == [
        ("B200", 1, 12.0),
        ("H200", 1, 10.0),
    ]
    history, _ = await Results(queue.store).history(PROBLEM, "H200", "ann", 9)
    assert [result.geomean_us for result in history] == [10.0]


CRASHED = Crashed(reason="exit", message="it exited", **dict(timed(None)) | {"outcome": "crashed"})


@pytest.mark.parametrize(
    ("sent", "verdict", "why"),
    [
        (RANKED, CRASHED, "the outcome is crashed"),
        (RANKED, timed(None), "it has no time"),
        (RANKED, timed(0.0), "it has no time"),
        (RANKED, timed(float("inf")), "it has no time"),
        (RANKED, timed(1.0, "cpu"), "it was emulated"),
        (RANKED, timed(1.0).model_copy(update={"emulated": True}), "it was emulated"),
        (RANKED, timed(1.0).model_copy(update={"sandbox_level": 0}), "it ran outside of a sandbox"),
        (submission(Mode.RANKED), timed(1.0), "its seeds were not secret"),
        (
            RANKED.model_copy(update={"cases": RANKED.cases[:1]}),
            timed(1.0),
            "its cases are not the official ones",
        ),
    ],
)
async def test_what_does_not_count_stands_nowhere(queue, boards, sent, verdict, why):
    await queue.submit(sent, "ann")
    await queue.finish(await queue.claim(GPU_WORKER, 0), verdict)
    assert why_not(sent, verdict) == why
    assert await boards.boards() == []
    device = verdict.environment.device
    assert await Results(queue.store).history(PROBLEM, device, "ann", 9) == ([], None)


def test_nothing_to_compute_does_not_count(monkeypatch):
    nothing = tuple(replace(case, m=(0,) * len(case.m)) for case in RANKED.cases)
    monkeypatch.setattr("contract.ranking.official_cases", lambda *_: nothing)
    sent = RANKED.model_copy(update={"cases": nothing})
    assert why_not(sent, timed(1.0)) == "there was nothing to compute"


@pytest.mark.parametrize("mode", [Mode.TEST, Mode.BENCHMARK])
async def test_other_modes_are_not_ranked(queue, boards, mode):
    await queue.submit(RANKED.model_copy(update={"mode": mode}), "ann")
    await queue.finish(await queue.claim(GPU_WORKER, 0), timed(1.0))
    assert await boards.boards() == []


async def test_pages_go_on_where_they_ended_whatever_happens_before_them(queue, boards):
    for index in range(5):
        await ranked(queue, f"owner{index}", 10.0)
    first = await boards.page(PROBLEM, "H200", limit=2)
    await ranked(queue, "newcomer", 1.0)
    second = await boards.page(PROBLEM, "H200", limit=2, cursor=first.next_cursor)
    third = await boards.page(PROBLEM, "H200", limit=2, cursor=second.next_cursor)
    assert [[each.owner for each in page.entries] for page in (first, second, third)] == [
        ["owner0", "owner1"],
        ["owner2", "owner3"],
        ["owner4"],
    ]
    assert [entry.rank for entry in second.entries] == [4, 5]
    assert third.next_cursor is None


ROW = "000000000001:" + "0" * 32


@pytest.mark.parametrize(
    "cursor",
    ["", "1", "1:2", "x" * 300, *(f"{text}:{ROW}" for text in ("nan", "e+-", "1.2.3", "٣"))],
)
async def test_a_cursor_that_is_none_of_ours_is_refused(queue, boards, cursor):
    with pytest.raises(InvalidSubmission, match="cursor"):
        await boards.page(PROBLEM, "H200", cursor=cursor)
    with pytest.raises(InvalidSubmission, match="cursor"):
        await Results(queue.store).history(PROBLEM, "H200", "ann", 9, cursor=cursor + "x")


async def test_an_empty_board_is_a_page_without_entries(boards):
    assert await boards.page(PROBLEM, "B200") == ([], None)


async def test_results_outlive_their_jobs(queue, boards, redis):
    job = await ranked(queue, "ann", THIRD)
    await redis.delete(
        *[key async for key in redis.scan_iter(f"halfbyte:*{job.id}*") if b"result" not in key]
    )
    assert await standing(boards) == [(1, "ann", THIRD)]


async def test_a_finish_that_is_repeated_enters_one_result(queue, boards, redis):
    await queue.submit(RANKED, "ann")
    lease = await queue.claim(GPU_WORKER, 0)
    await asyncio.gather(*(queue.finish(lease, timed(10.0)) for _ in range(3)))
    assert await standing(boards) == [(1, "ann", 10.0)]
    assert await redis.get("halfbyte:ranked_number") == b"1"


async def test_a_verdict_whose_answer_is_lost_is_entered_once(redis_server, redis):
    async with SeveredRoad(redis_server.port).open() as road:
        queue = JobQueue.connect(QueueSettings(redis_url=road.url))
        for score in (20.0, 10.0):  # the first makes every script known
            await queue.submit(RANKED, "ann")
            lease = await queue.claim(GPU_WORKER, 0)
            if score == 10.0:
                road.sever_next_answer()
            await queue.finish(lease, timed(score))
        assert road.cuts == 1
        assert await standing(Leaderboards(queue.store)) == [(1, "ann", 10.0)]
        assert await redis.get("halfbyte:ranked_number") == b"2"
        await queue.close()
