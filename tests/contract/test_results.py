"""Results: histories, what is decided, and what stands on a board then."""

import pytest

from contract.leaderboard import Leaderboards
from contract.queue import JobQueue
from contract.results import Results
from contract.settings import QueueSettings
from tests.contract.ranked import PROBLEM, RANKED, ranked, standing


@pytest.fixture
def boards(queue: JobQueue) -> Leaderboards:
    return Leaderboards(queue.store)


@pytest.fixture
def results(queue: JobQueue) -> Results:
    return Results(queue.store)


async def test_the_next_best_takes_the_place_of_the_disqualified(queue, boards, results):
    await ranked(queue, "ann", 30.0)
    await ranked(queue, "bob", 20.0)
    cheat = await ranked(queue, "ann", 10.0)
    for _ in range(2):  # again changes nothing
        found = await results.disqualify(cheat.id, "reads a clock of its own", "root")
        assert (found.disqualified.reason, found.disqualified.by) == (
            "reads a clock of its own",
            "root",
        )
    assert await standing(boards) == [(1, "bob", 20.0), (2, "ann", 30.0)]
    history, _ = await results.history(PROBLEM, "H200", "ann", 9)
    assert [(each.geomean_us, each.disqualified is None) for each in history] == [
        (10.0, False),
        (30.0, True),
    ]
    found = await results.reinstate(cheat.id, "it was a comment", "root")
    assert found.disqualified is None
    assert await standing(boards) == [(1, "ann", 10.0), (2, "bob", 20.0)]


async def test_who_has_nothing_left_stands_nowhere(queue, boards, results):
    job = await ranked(queue, "ann", 10.0)
    await results.disqualify(job.id, "a cheat", "root")
    assert await standing(boards) == []
    assert await boards.boards() == []


@pytest.mark.parametrize("disqualified", [False, True])
async def test_a_deleted_result_leaves_nothing(queue, boards, results, redis, disqualified):
    job = await ranked(queue, "ann", 10.0)
    other = await ranked(queue, "ann", 20.0)
    if disqualified:
        await results.disqualify(job.id, "a cheat", "root")
    deleted = await results.delete(job.id, "asked for by ann", "root")
    assert deleted.job == job.id
    assert await standing(boards) == [(1, "ann", 20.0)]
    history, _ = await results.history(PROBLEM, "H200", "ann", 9)
    assert [each.job for each in history] == [other.id]
    assert await redis.exists(f"halfbyte:result:{job.id}") == 0


async def test_decisions_on_what_is_no_result_find_nothing(queue, boards, results):
    job = await queue.submit(RANKED, "ann")
    for decide in (results.disqualify, results.reinstate, results.delete):
        assert await decide(job.id, "a reason", "root") is None
    assert await boards.boards() == []


async def test_history_is_paged_from_the_newest(queue, results):
    jobs = [(await ranked(queue, "ann", 10.0 + index)).id for index in range(5)]
    found, cursor = [], None
    while True:
        page, cursor = await results.history(PROBLEM, "H200", "ann", 2, cursor)
        found += [each.job for each in page]
        if cursor is None:
            break
    assert found == jobs[::-1]


async def test_the_slowest_results_of_an_owner_are_forgotten_first(queue_settings, redis):
    settings: QueueSettings = queue_settings.model_copy(update={"results_kept": 3})
    queue = JobQueue.connect(settings)
    try:
        boards, results = Leaderboards(queue.store), Results(queue.store)
        for score in (40.0, 10.0, 50.0, 30.0, 20.0, 60.0):
            await ranked(queue, "ann", score)
        history, _ = await results.history(PROBLEM, "H200", "ann", 9)
        assert [each.geomean_us for each in history] == [20.0, 30.0, 10.0]
        assert await standing(boards) == [(1, "ann", 10.0)]
        assert len([key async for key in redis.scan_iter("halfbyte:result:*")]) == 3
    finally:
        await queue.close()
