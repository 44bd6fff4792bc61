"""What one owner may use, and that it is told which limit it met and when to come back."""

import asyncio

import pytest
from redis.asyncio import Redis

from contract.device import CPU
from contract.errors import QuotaExceeded
from contract.queue import JobQueue
from contract.quota import Quota, Quotas
from tests.contract.examples import LOST, passed, submission, worker

GPU = worker("gpu").model_copy(update={"device": "H200"})
MINUTE_MS = 60_000


@pytest.fixture
def quotas(queue: JobQueue):
    def of(**limits: int) -> Quotas:
        return Quotas(queue.store, Quota(**limits))

    return of


async def spend(redis: Redis, owner: str, **seconds_by_minutes_ago: int) -> None:
    """Have an owner used GPUs `ago5=30`: 30 seconds, five minutes ago."""
    now_s, _ = await redis.time()
    for ago, seconds in seconds_by_minutes_ago.items():
        minute = now_s // 60 - int(ago.removeprefix("ago"))
        await redis.hset(f"halfbyte:spent:{owner}", str(minute), 1000 * seconds)
    await redis.expire(f"halfbyte:spent:{owner}", 3600)


async def test_no_more_jobs_wait_than_may_however_many_are_sent_at_once(queue, quotas):
    sent = [queue.submit(submission(), "alice", max_waiting=3) for _ in range(10)]
    ends = await asyncio.gather(*sent, return_exceptions=True)
    refused = [end for end in ends if isinstance(end, QuotaExceeded)]
    assert (len(ends) - len(refused), len(refused)) == (3, 7)
    assert {(end.quota, end.limit, end.used) for end in refused} == {("jobs_waiting", 3, 3)}
    with pytest.raises(QuotaExceeded, match="jobs_waiting is used up: 3 of 3"):
        await quotas(jobs_waiting=3).take("alice")
    await queue.submit(submission(), "bob", max_waiting=3)


@pytest.mark.parametrize("end", ["claim", "cancel"])
async def test_a_job_that_waits_no_longer_makes_room(queue, quotas, end):
    job = await queue.submit(submission(), "alice", max_waiting=1)
    await (queue.claim(worker(), 0) if end == "claim" else queue.cancel(job.id))
    await quotas(jobs_waiting=1).take("alice")
    await queue.submit(submission(), "alice", max_waiting=1)


async def test_a_job_that_is_put_back_waits_again(queue, redis: Redis):
    await queue.submit(submission(), "alice")
    lease = await queue.claim(worker(), 0)
    assert await redis.hgetall("halfbyte:waiting") == {}
    await queue.release(lease, LOST)
    assert await redis.hgetall("halfbyte:waiting") == {b"alice": b"1"}


async def test_jobs_a_minute_are_counted_by_owner(quotas, redis: Redis):
    three = quotas(jobs_a_minute=3)
    ends = await asyncio.gather(*(three.take("alice") for _ in range(5)), return_exceptions=True)
    refused = [end for end in ends if isinstance(end, QuotaExceeded)]
    assert len(refused) == 2
    for end in refused:
        assert (end.quota, end.limit) == ("jobs_a_minute", 3)
        assert 0 < end.retry_after_s <= 60
    await three.take("bob")
    assert all([await redis.ttl(key) > 0 for key in await redis.keys("halfbyte:rate:*")])


async def ended(queue: JobQueue, who, how: str) -> None:
    job = await queue.submit(submission(), "alice")
    lease = await queue.claim(who, 0)
    match how:
        case "finished":
            await queue.finish(lease, passed())
        case "cancelled":
            await queue.cancel(job.id)
        case "failed":
            await queue.release(lease, LOST)
            await queue.release(await queue.claim(who, 0), LOST)


@pytest.mark.parametrize(
    ("who", "how", "charged"),
    [
        (GPU, "finished", True),
        (GPU, "cancelled", True),
        (GPU, "failed", False),
        (worker().model_copy(update={"device": CPU}), "finished", False),
    ],
)
async def test_what_ran_on_a_gpu_is_charged_unless_the_fault_was_ours(
    queue, redis, who, how, charged
):
    await ended(queue, who, how)
    assert bool(await redis.exists("halfbyte:spent:alice")) is charged


async def test_a_job_cancelled_before_its_start_costs_nothing(queue, redis: Redis):
    job = await queue.submit(submission(), "alice")
    await queue.cancel(job.id)
    assert not await redis.exists("halfbyte:spent:alice")


async def test_the_time_of_the_attempt_that_ended_is_charged(queue, redis: Redis):
    job = await queue.submit(submission(), "alice")
    lease = await queue.claim(GPU, 0)
    started_ms = int(await redis.hget(f"halfbyte:job:{job.id}", "started_at"))
    await redis.hset(f"halfbyte:job:{job.id}", "started_at", started_ms - 5_000)
    await queue.finish(lease, passed())
    (spent_ms,) = await redis.hvals("halfbyte:spent:alice")
    assert 5_000 <= int(spent_ms) < 15_000
    await queue.finish(lease, passed())
    assert await redis.hvals("halfbyte:spent:alice") == [spent_ms]


async def test_a_job_put_back_from_a_gpu_and_finished_without_one_costs_nothing(queue, redis):
    await queue.submit(submission(), "alice")
    await queue.release(await queue.claim(GPU, 0), LOST)
    await queue.finish(await queue.claim(worker(), 0), passed())
    assert not await redis.exists("halfbyte:spent:alice")


async def test_gpu_seconds_are_those_of_the_last_hour(quotas, redis: Redis):
    hundred = quotas(gpu_seconds_an_hour=100)
    await spend(redis, "alice", ago59=40, ago30=50, ago61=1000)
    await hundred.take("alice")
    await spend(redis, "alice", ago1=60)
    with pytest.raises(QuotaExceeded) as refused:
        await hundred.take("alice")
    end = refused.value
    assert (end.quota, end.limit, end.used) == ("gpu_seconds_an_hour", 100, 150)
    # The 40 s of 59 minutes ago leave 110: still too many; those of 30 minutes ago have to go too.
    assert 29 * 60 < end.retry_after_s <= 31 * 60
    await hundred.take("bob")


async def test_bytes_of_files_and_verdicts_are_charged_once_by_owner(queue, redis: Redis):
    await queue.submit(submission(source=b"#" * 300_000), "alice")
    (sent,) = map(int, await redis.hvals("halfbyte:kept:alice"))
    assert 300_000 <= sent < 310_000
    lease = await queue.claim(GPU, 0)
    for _ in range(2):
        await queue.finish(lease, passed(), {"a.ptx": b"no two lines alike"})
    kept = sum(map(int, await redis.hvals("halfbyte:kept:alice")))
    assert sent < kept < sent + 10_000
    assert await redis.ttl("halfbyte:kept:alice") > 0


async def test_megabytes_are_those_of_the_last_hour(queue, quotas):
    one = quotas(megabytes_an_hour=1)
    for _ in range(2):
        await one.take("alice")
        await queue.submit(submission(source=b"#" * 600_000), "alice")
    with pytest.raises(QuotaExceeded) as refused:
        await one.take("alice")
    end = refused.value
    assert (end.quota, end.limit, end.used) == ("megabytes_an_hour", 1, 1)
    assert 58 * 60 < end.retry_after_s <= 3600
    await one.take("bob")


async def test_old_minutes_are_forgotten(queue, redis: Redis):
    await spend(redis, "alice", ago60=1, ago200=1, ago59=1)
    await ended(queue, GPU, "finished")
    assert len(await redis.hvals("halfbyte:spent:alice")) == 2
    assert await redis.ttl("halfbyte:spent:alice") > 0
