"""Submitting, and listing what was submitted."""

import asyncio

import pytest

from contract.errors import IdempotencyConflict, InvalidSubmission, QueueFull
from contract.job import JobState
from contract.queue import JobQueue
from contract.submission import Mode
from tests.contract.examples import passed, submission, worker


async def test_the_same_key_and_body_give_the_same_job(queue):
    first = await queue.submit(submission(), "alice", idempotency_key="k", digest="body")
    again = await queue.submit(submission(), "alice", idempotency_key="k", digest="body")
    assert again.id == first.id
    assert await queue.depth() == {"any": 1}


async def test_the_same_key_gives_the_earlier_job_also_when_it_has_ended(queue):
    await queue.submit(submission(), "alice", idempotency_key="k")
    lease = await queue.claim(worker(), 0)
    await queue.finish(lease, passed())
    again = await queue.submit(submission(), "alice", idempotency_key="k")
    assert (again.id, again.state) == (lease.job.id, JobState.FINISHED)


async def test_submissions_at_the_same_time_with_one_key_make_one_job(queue):
    jobs = await asyncio.gather(
        *(queue.submit(submission(), "alice", idempotency_key="k") for _ in range(20))
    )
    assert len({job.id for job in jobs}) == 1
    assert await queue.depth() == {"any": 1}


@pytest.mark.parametrize(
    "second",
    [
        {"digest": "another"},
        {"submission": submission(Mode.COMPILE)},
        {"submission": submission(source=b"y = 2\n")},
    ],
)
async def test_the_same_key_with_another_body_is_a_conflict(queue, second):
    digest = "body" if "digest" in second else None
    await queue.submit(submission(), "alice", idempotency_key="k", digest=digest)
    with pytest.raises(IdempotencyConflict):
        await queue.submit(
            **{"submission": submission(), "owner": "alice", "idempotency_key": "k"} | second
        )
    assert await queue.depth() == {"any": 1}


async def test_keys_of_different_owners_do_not_meet(queue):
    first = await queue.submit(submission(), "alice", idempotency_key="k")
    second = await queue.submit(submission(), "bob", idempotency_key="k")
    assert first.id != second.id


async def test_a_full_queue_refuses_and_leaves_nothing_behind(queue_settings, redis):
    queue = JobQueue.connect(queue_settings.model_copy(update={"max_queued": 2}))
    await queue.submit(submission(device="cpu"), "alice")
    second = await queue.submit(submission(), "alice", idempotency_key="k")
    before = sorted(await redis.keys())
    with pytest.raises(QueueFull) as full:
        await queue.submit(submission(), "bob")
    assert (full.value.length, full.value.limit) == (2, 2)
    assert sorted(await redis.keys()) == before
    assert (await queue.submit(submission(), "alice", idempotency_key="k")).id == second.id
    await queue.claim(worker(), 0)
    await queue.submit(submission(), "bob")
    await queue.close()


async def test_ids_cannot_be_guessed_and_numbers_count_up(queue):
    jobs = [await queue.submit(submission(), "alice") for _ in range(5)]
    assert [job.number for job in jobs] == [1, 2, 3, 4, 5]
    assert all(len(job.id) == 32 for job in jobs)
    assert len({job.id[:8] for job in jobs}) == 5


async def test_text_of_any_kind_survives(queue):
    owner = 'älice: "\\u0000" 🦊:x'
    sent = submission().model_copy(update={"filename": "søurce 🦊.py", "device": "any"})
    job = await queue.submit(sent, owner, idempotency_key="k:\n")
    assert (job.owner, job.filename) == (owner, "søurce 🦊.py")
    page, _ = await queue.list(owner=owner)
    assert [row.job.id for row in page] == [job.id]


async def pages(queue, limit, **filters):
    cursor, found = None, []
    while True:
        page, cursor = await queue.list(limit=limit, cursor=cursor, **filters)
        found.append([row.job.number for row in page])
        if cursor is None:
            return found


async def test_a_list_is_newest_first_in_pages(queue):
    for _ in range(5):
        await queue.submit(submission(), "alice")
    assert await pages(queue, 2) == [[5, 4], [3, 2], [1]]
    assert await pages(queue, 5) == [[5, 4, 3, 2, 1]]
    assert await pages(queue, 200) == [[5, 4, 3, 2, 1]]


async def test_an_empty_list_has_no_cursor(queue):
    assert await queue.list() == ([], None)


async def test_pages_do_not_move_when_jobs_arrive(queue):
    for _ in range(4):
        await queue.submit(submission(), "alice")
    page, cursor = await queue.list(limit=2)
    await queue.submit(submission(), "alice")
    following, end = await queue.list(limit=2, cursor=cursor)
    assert [row.job.number for row in (*page, *following)] == [4, 3, 2, 1]
    assert end is None


async def test_a_list_can_be_filtered(queue):
    for owner in ("alice", "bob"):
        for mode in (Mode.TEST, Mode.BENCHMARK):
            await queue.submit(submission(mode), owner)
    lease = await queue.claim(worker(), 0)
    await queue.finish(lease, passed())
    await queue.cancel((await queue.claim(worker(), 0)).job.id)
    assert lease.job.number == 1
    assert await pages(queue, 9, owner="alice") == [[2, 1]]
    assert await pages(queue, 9, mode=Mode.BENCHMARK) == [[4, 2]]
    assert await pages(queue, 9, mode=Mode.BENCHMARK, owner="bob") == [[4]]
    assert await pages(queue, 9, state=JobState.FINISHED) == [[1]]
    assert await pages(queue, 9, state=JobState.CANCELLED) == [[3]]
    assert await pages(queue, 1, state=JobState.QUEUED) == [[4], [2]]
    assert await pages(queue, 9, owner="nobody") == [[]]


async def test_a_list_shows_headlines_positions_and_no_verdict(queue):
    await queue.submit(submission(), "alice")
    await queue.finish(await queue.claim(worker(), 0), passed("passed", 12.5))
    await queue.submit(submission(), "alice")
    (queued, finished), _ = await queue.list()
    assert (queued.headline, queued.job.position) == (None, 1)
    assert finished.headline.model_dump() == {
        "outcome": "passed",
        "summary": "passed",
        "geomean_us": 12.5,
    }
    assert finished.job.verdict is None


async def test_a_rare_filter_over_many_jobs_ends_at_the_right_job(queue, redis, monkeypatch):
    monkeypatch.setattr("contract.queue.PAGE_SCANS", 100)
    rare = await queue.submit(submission(Mode.PROFILE), "alice")
    for _ in range(250):
        await queue.submit(submission(), "alice")
    found = await pages(queue, 5, mode=Mode.PROFILE)
    assert found == [[], [], [rare.number]]


@pytest.mark.parametrize("cursor", ["", "x", "-1", "1.5", "9" * 40, "(1"])
async def test_a_cursor_that_is_none_of_ours_is_refused(queue, cursor):
    with pytest.raises(InvalidSubmission, match="cursor"):
        await queue.list(cursor=cursor)


async def test_a_job_past_its_retention_leaves_the_lists(queue_settings, redis, wait_until):
    queue = JobQueue.connect(queue_settings.model_copy(update={"retention_s": 0.2}))
    kept = await queue.submit(submission(device="cpu"), "alice")
    await queue.submit(submission(), "alice")
    lease = await queue.claim(worker(), 0)
    await queue.finish(lease, passed())

    async def forgotten():
        return not await redis.exists(
            *(
                f"halfbyte:{kind}:{lease.job.id}"
                for kind in ("job", "spec", "source", "verdict", "events")
            )
        )

    await wait_until(forgotten)
    assert await pages(queue, 9) == [[kept.number]]
    await queue.reap()
    assert await redis.zcard("halfbyte:jobs") == await redis.zcard("halfbyte:jobs:alice") == 1
    assert await redis.exists("halfbyte:ended") == 0
    await queue.close()
