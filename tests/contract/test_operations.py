"""Figures of the queue, and draining a worker."""

import pytest
from redis.asyncio import Redis

from contract.errors import LeaseLost
from contract.job import JobState
from contract.operations import Operations
from contract.queue import JobQueue
from contract.submission import Mode
from tests.contract.examples import LOST, passed, submission, worker


@pytest.fixture
def operations(queue: JobQueue) -> Operations:
    return Operations(queue.store)


async def test_lines_are_told_by_device_and_mode_with_the_age_of_the_oldest(
    queue, operations, redis: Redis
):
    old = await queue.submit(submission(Mode.TEST), "alice")
    for mode, device in ((Mode.TEST, "any"), (Mode.BENCHMARK, "any"), (Mode.TEST, "H200")):
        await queue.submit(submission(mode, device), "bob")
    created_ms = int(await redis.hget(f"halfbyte:job:{old.id}", "created_at"))
    await redis.zadd("halfbyte:line:any:test", {old.id: created_ms - 60_000})
    lines = {(line.device, line.mode): line for line in (await operations.figures()).lines}
    assert {place: line.waiting for place, line in lines.items()} == {
        ("any", Mode.TEST): 2,
        ("any", Mode.BENCHMARK): 1,
        ("H200", Mode.TEST): 1,
    }
    assert lines["any", Mode.TEST].oldest_s >= 60
    assert lines["any", Mode.BENCHMARK].oldest_s < 30


async def test_a_job_put_back_is_as_old_as_it_was(queue, operations, redis: Redis):
    job = await queue.submit(submission(), "alice")
    created_ms = int(await redis.hget(f"halfbyte:job:{job.id}", "created_at"))
    await redis.hset(f"halfbyte:job:{job.id}", "created_at", created_ms - 60_000)
    await queue.release(await queue.claim(worker(), 0), LOST)
    (line,) = (await operations.figures()).lines
    assert line.oldest_s >= 60


async def test_an_empty_queue_has_no_lines(queue, operations):
    job = await queue.submit(submission(), "alice")
    await queue.cancel(job.id)
    figures = await operations.figures()
    assert (figures.lines, figures.running, figures.submitted) == ([], 0, 1)


async def test_what_happens_is_counted_once(queue, operations, reap_expired):
    await queue.submit(submission(), "alice")
    lost = await queue.claim(worker(), 0)
    await reap_expired(lost)
    lease = await queue.claim(worker(), 0)
    for _ in range(3):
        await queue.renew(lease)
    for _ in range(2):
        await queue.finish(lease, passed())
    await queue.cancel((await queue.submit(submission(), "alice")).id)
    await queue.submit(submission(), "alice")
    for _ in range(2):
        await queue.release(await queue.claim(worker(), 0), LOST)

    figures = await operations.figures()
    assert figures.counted("ended") == {"finished": 1, "cancelled": 1, "failed": 1}
    assert figures.counted("verdict") == {"passed": 1}
    assert figures.counted("failed") == {LOST.reason: 1}
    wanted = {"attempts": 4, "renewals": 3, "requeued": 2, "leases_expired": 1}
    assert {name: figures.counters[name] for name in wanted} == wanted


async def test_a_late_worker_counts_nothing(queue, operations, reap_expired):
    job = await queue.submit(submission(), "alice")
    stale = await queue.claim(worker(), 0)
    await queue.cancel(job.id)
    before = (await operations.figures()).counters
    for write in (queue.renew(stale), queue.finish(stale, passed()), queue.release(stale, LOST)):
        with pytest.raises(LeaseLost, match="cancelled"):
            await write
    assert (await operations.figures()).counters == before


@pytest.mark.parametrize(("age_ms", "bucket"), [(0, 0), (1_500, 3), (45_000, 7), (7_200_000, 13)])
async def test_durations_of_the_stages_are_counted_in_buckets(
    queue, operations, redis: Redis, age_ms, bucket
):
    job = await queue.submit(submission(Mode.BENCHMARK), "alice")
    key = f"halfbyte:job:{job.id}"
    await redis.hincrby(key, "queued_at", -age_ms)
    lease = await queue.claim(worker(), 0)
    await redis.hincrby(key, "started_at", -age_ms)
    await queue.finish(lease, passed())
    durations = (await operations.figures()).durations
    assert set(durations) == {("queued", Mode.BENCHMARK), ("running", Mode.BENCHMARK)}
    for found in durations.values():
        assert sum(found.counts) == 1
        assert found.counts.index(1) >= bucket  # a slow machine adds to it
        assert found.sum_s >= age_ms / 1000


async def test_a_live_worker_is_told_with_the_age_of_its_heartbeat(queue, operations):
    await queue.heartbeat(worker("w1"))
    ((info, age_s),) = (await operations.figures()).workers
    assert (info.id, info.heartbeat_at is not None) == ("w1", True)
    assert 0 <= age_s < 30


async def test_a_worker_hears_with_its_next_heartbeat_that_it_is_to_drain(queue, operations):
    assert await queue.heartbeat(worker("w1")) is False
    drained = await operations.drain("w1")
    assert drained.id == "w1"
    assert await queue.heartbeat(worker("w1")) is True
    assert await queue.heartbeat(worker("w2")) is False
    await queue.goodbye("w1")
    assert await queue.heartbeat(worker("w1")) is False


async def test_a_worker_that_is_not_there_cannot_be_drained(operations):
    assert await operations.drain("nobody") is None


async def test_counters_are_not_of_one_process(queue, operations, queue_settings):
    await queue.submit(submission(), "alice")
    await queue.finish(await queue.claim(worker(), 0), passed())
    other = JobQueue.connect(queue_settings)
    assert (await Operations(other.store).figures()).counted("ended") == {JobState.FINISHED: 1}
    await other.close()
