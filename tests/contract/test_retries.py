"""Jobs that failed by a fault of ours, and that their owner has judged again."""

from datetime import UTC, datetime, timedelta

import pytest
from redis.asyncio import Redis

from contract.archive import Archive
from contract.contest import Contest
from contract.deliveries import Deliveries, Delivery
from contract.errors import (
    JobNotFound,
    NothingToRetry,
    OutsideWindow,
    QueueFull,
    QuotaExceeded,
)
from contract.job import Job, JobState
from contract.leaderboard import Leaderboards
from contract.queue import JobQueue
from contract.retries import retry
from contract.settings import QueueSettings
from contract.submission import Submission
from contract.windows import BoardWindow
from tests.contract.examples import LOST, passed, submission, worker
from tests.contract.ranked import GPU_WORKER, PROBLEM, RANKED, standing, timed


async def failed(queue: JobQueue, what: Submission) -> Job:
    """Have a job fail, for its workers have twice; nothing else may wait."""
    job = await queue.submit(what, "alice")
    for _ in range(2):
        lease = await queue.claim(GPU_WORKER, 0)
        assert lease is not None
        await queue.release(lease, LOST)
    return await queue.get(job.id)


async def test_a_retried_job_is_the_same_job_with_all_its_attempts_again(
    queue: JobQueue, redis: Redis
) -> None:
    before = await failed(queue, submission())
    assert before.state is JobState.FAILED
    other = await queue.submit(submission(), "bob")
    waiting = await retry(queue, before.id)
    assert waiting == before.model_copy(
        update={
            **{"state": JobState.QUEUED, "position": 1, "error": None, "finished_at": None},
            **{"started_at": None, "worker": None},
        }
    )
    assert [
        key async for key in redis.scan_iter(f"*{before.id}*") if await redis.ttl(key) > 0
    ] == []
    for attempt in (3, 4):
        lease = await queue.claim(worker(), 0)
        assert lease is not None
        assert (lease.job.id, lease.attempt, lease.submission.source) == (
            *(before.id, attempt),
            b"x = 1\n",
        )
        await queue.release(lease, LOST)
    assert (await queue.get(before.id)).state is JobState.FAILED
    await queue.cancel(other.id)
    await retry(queue, before.id)
    lease = await queue.claim(worker(), 0)
    assert lease is not None
    await queue.finish(lease, passed())
    found = await queue.get(before.id)
    assert (found.verdict, found.attempts) == (passed(), 5)
    told = [event.data async for event in queue.events(before.id) if event is not None]
    assert told == [{"state": state} for state in ("queued", "running", "finished")]


async def test_a_retry_that_comes_twice_is_one(queue: JobQueue) -> None:
    job = await failed(queue, submission())
    assert await retry(queue, job.id) == await retry(queue, job.id)
    await queue.claim(worker(), 0)
    assert (await retry(queue, job.id)).state is JobState.RUNNING
    assert await queue.claim(worker(), 0) is None


async def test_a_flood_of_retries_delays_another_owners_job_by_one_job_at_most(
    queue: JobQueue,
) -> None:
    """With the scores of when they were sent, all of them were ahead of everybody."""
    lost = [await failed(queue, submission()) for _ in range(5)]
    for _ in range(3):
        await queue.submit(submission(), "carol")
        await queue.claim(worker(), 0)
    for job in lost:
        await retry(queue, job.id)
    job = await queue.submit(submission(), "bob")
    assert job.position is not None
    assert job.position <= 2


async def test_a_job_that_failed_long_ago_does_not_wait_for_rounds_of_that_time(
    queue: JobQueue, redis: Redis
) -> None:
    """The clock of a line goes after a day without jobs, and begins anew."""
    for _ in range(20):
        await queue.submit(submission(), "bob")
        await queue.claim(worker(), 0)
    job = await failed(queue, submission())
    for key in [key async for key in redis.scan_iter("halfbyte:*") if await redis.ttl(key) > 0]:
        if key.startswith((b"halfbyte:clock:", b"halfbyte:round:")):
            await redis.delete(key)
    for _ in range(3):
        await queue.submit(submission(), "bob")
    position = (await retry(queue, job.id)).position
    assert position is not None
    assert position <= 2


async def test_a_retry_takes_a_place_among_those_that_may_wait(
    queue_settings: QueueSettings,
) -> None:
    queue = JobQueue.connect(queue_settings.model_copy(update={"max_queued": 2}))
    try:
        job = await failed(queue, submission())
        await queue.submit(submission(), "alice")
        with pytest.raises(QuotaExceeded, match="jobs_waiting is used up: 1 of 1"):
            await retry(queue, job.id, max_waiting=1)
        await queue.submit(submission(), "bob")
        with pytest.raises(QueueFull, match="2 jobs wait, 2 may"):
            await retry(queue, job.id)
        assert (await queue.get(job.id)).state is JobState.FAILED
        await queue.claim(worker(), 0)
        assert (await retry(queue, job.id)).state is JobState.QUEUED
        assert (await retry(queue, job.id)).state is JobState.QUEUED  # it waits already
    finally:
        await queue.close()


async def test_only_what_failed_is_retried(queue: JobQueue) -> None:
    job = await queue.submit(submission(), "alice")
    await queue.cancel(job.id)
    with pytest.raises(NothingToRetry, match="is cancelled: only one that failed"):
        await retry(queue, job.id)
    with pytest.raises(JobNotFound):
        await retry(queue, "0" * 32)


async def test_a_ranked_job_counts_as_of_when_it_was_first_sent(queue: JobQueue) -> None:
    await queue.heartbeat(GPU_WORKER)
    job = await failed(queue, RANKED)
    closed = job.created_at + timedelta(milliseconds=1)
    over = BoardWindow(problem=PROBLEM, device="H200", closes_at=closed)
    await Contest(queue.store).set_window(over, "root")
    with pytest.raises(OutsideWindow):
        await queue.submit(RANKED, "alice")
    await retry(queue, job.id)
    lease = await queue.claim(GPU_WORKER, 0)
    assert lease is not None
    await queue.finish(lease, timed(11.0))
    assert await standing(Leaderboards(queue.store)) == [(1, "alice", 11.0)]


async def test_each_end_of_a_retried_job_is_called_back(queue: JobQueue) -> None:
    deliveries = Deliveries(queue.store)
    called = submission().model_copy(update={"callback_url": "https://hook.example/"})
    job = await failed(queue, called)
    (first,) = await deliveries.take("callbacks", 9, 0, 1)
    await retry(queue, job.id)
    assert await deliveries.take("callbacks", 9, 0, 1) == []
    await queue.cancel(job.id)
    (second,) = await deliveries.take("callbacks", 9, 30, 1)
    assert (first.id, first.attempt, first.message_id) == (job.id, 1, job.id)
    assert (second.id, second.attempt, second.message_id) == (job.id, 1, f"{job.id}-2")


async def test_a_receipt_for_the_first_end_is_none_for_the_second(
    queue: JobQueue, redis: Redis
) -> None:
    """The first end was on its way when the job was tried again, and ended once more."""
    deliveries = Deliveries(queue.store)
    called = submission().model_copy(update={"callback_url": "https://hook.example/"})
    job = await failed(queue, called)
    (first,) = await deliveries.take("callbacks", 9, 30, 3)
    await retry(queue, job.id)
    receipt = Delivery(attempt=1, at=datetime.now(UTC), duration_ms=1.0, status=200)
    await deliveries.note(first.id, receipt, None)
    assert (await deliveries.log(job.id)).deliveries == ()
    await queue.cancel(job.id)
    await deliveries.note(first.id, receipt, None)
    (second,) = await deliveries.take("callbacks", 9, 30, 3)
    assert (second.id, second.attempt) == (job.id, 1)
    assert second.message_id != first.message_id
    await Archive(queue.store).forget(job.id)
    await deliveries.note(second.id, receipt, None)
    assert [key async for key in redis.scan_iter(f"*{job.id}*")] == []
