"""Callbacks in Redis: put there by the end of a job, taken by one, tried again, forgotten."""

import asyncio
from datetime import UTC, datetime

import pytest
from redis.asyncio import Redis

from contract.deliveries import MOST_OF_ONE, Deliveries, Delivery, Due
from contract.queue import JobQueue
from tests.contract.examples import LOST, passed, submission, worker

URL = "https://hook.example/x"
OWNER = "alice"
CALLED = submission().model_copy(update={"callback_url": URL})
HOLD_S = 30


@pytest.fixture
def deliveries(queue: JobQueue) -> Deliveries:
    return Deliveries(queue.store)


def attempt(number: int = 1, error: str | None = None) -> Delivery:
    return Delivery(attempt=number, at=datetime.now(UTC), duration_ms=1.5, status=200, error=error)


async def ended(queue: JobQueue) -> str:
    job = await queue.submit(CALLED, "alice")
    await queue.cancel(job.id)
    return job.id


async def finish(queue: JobQueue) -> None:
    await queue.finish(await queue.claim(worker(), 0), passed())


async def fail(queue: JobQueue) -> None:
    for _ in range(2):
        await queue.release(await queue.claim(worker(), 0), LOST)


async def cancel_running(queue: JobQueue) -> None:
    await queue.cancel((await queue.claim(worker(), 0)).job.id)


@pytest.mark.parametrize("end", [finish, fail, cancel_running])
async def test_every_end_of_a_job_is_called_back_once(queue, deliveries, end):
    job = await queue.submit(CALLED, "alice")
    await queue.submit(submission(), "alice")  # has no callback
    assert await deliveries.take("callbacks", 9, HOLD_S, 3) == []
    await end(queue)
    assert await deliveries.take("callbacks", 9, HOLD_S, 3) == [Due(job.id, URL, 1, job.id, OWNER)]
    assert await deliveries.take("callbacks", 9, HOLD_S, 3) == []


async def test_several_takers_share_what_is_due(queue, deliveries):
    jobs = {await ended(queue) for _ in range(20)}
    taken = await asyncio.gather(*(deliveries.take("callbacks", 4, HOLD_S, 3) for _ in range(10)))
    assert sorted(due.id for some in taken for due in some) == sorted(jobs)
    assert all(len(some) <= 4 for some in taken)


async def test_a_taker_that_dies_is_followed_by_another(queue, deliveries, wait_until):
    job_id = await ended(queue)
    assert await deliveries.take("callbacks", 1, 0.05, 3)

    async def taken() -> list[Due]:
        return await deliveries.take("callbacks", 1, HOLD_S, 3)

    assert await wait_until(taken, "the hold to run out") == [Due(job_id, URL, 2, job_id, OWNER)]


async def test_what_was_delivered_is_done(queue, deliveries, redis: Redis):
    job_id = await ended(queue)
    await deliveries.take("callbacks", 1, 0, 3)
    await deliveries.note(job_id, attempt(), None)
    assert await deliveries.take("callbacks", 1, 0, 3) == []
    log = await deliveries.log(job_id)
    assert [each.attempt for each in log.deliveries] == [1]
    assert log.next_at is None
    assert await redis.exists("halfbyte:callbacks") == 0


async def test_what_failed_comes_again_when_it_is_due(queue, deliveries, wait_until):
    job_id = await ended(queue)
    await deliveries.take("callbacks", 1, HOLD_S, 3)
    await deliveries.note(job_id, attempt(1, "answered 500"), 0.05)
    log = await deliveries.log(job_id)
    assert log.next_at is not None

    async def taken() -> list[Due]:
        return await deliveries.take("callbacks", 1, HOLD_S, 3)

    assert await wait_until(taken, "the pause to pass") == [Due(job_id, URL, 2, job_id, OWNER)]
    await deliveries.note(job_id, attempt(2), None)
    log = await deliveries.log(job_id)
    assert [(each.attempt, each.error) for each in log.deliveries] == [
        (1, "answered 500"),
        (2, None),
    ]


async def test_attempts_that_nobody_noted_count_as_well(queue, deliveries, redis: Redis):
    await ended(queue)
    attempts = [
        due.attempt for _ in range(9) for due in await deliveries.take("callbacks", 1, 0, 3)
    ]
    assert attempts == [1, 2, 3]
    assert await redis.exists("halfbyte:callbacks") == 0


async def test_a_job_past_its_retention_is_called_back_no_more(queue, deliveries, redis: Redis):
    job_id = await ended(queue)
    await redis.delete(f"halfbyte:job:{job_id}")
    assert await deliveries.take("callbacks", 1, HOLD_S, 3) == []
    assert await redis.exists("halfbyte:callbacks") == 0


async def test_what_is_kept_of_deliveries_goes_with_the_job(queue, deliveries, redis: Redis):
    job_id = await ended(queue)
    await deliveries.take("callbacks", 1, HOLD_S, 3)
    await deliveries.note(job_id, attempt(1, "x"), 5)
    kept = await redis.ttl(f"halfbyte:delivery:{job_id}")
    assert abs(kept - await redis.ttl(f"halfbyte:job:{job_id}")) < 60


async def test_a_job_without_a_callback_has_an_empty_log(queue, deliveries):
    job = await queue.submit(submission(), "alice")
    log = await deliveries.log(job.id)
    assert (log.deliveries, log.next_at) == ((), None)


async def test_one_owner_has_so_many_under_way_and_others_get_the_rest(queue, deliveries, redis):
    """Whose receiver never answered had all the room there was, time and again."""
    floods = [await ended(queue) for _ in range(20)]
    other = await queue.submit(CALLED, "bob")
    await queue.cancel(other.id)
    due = await deliveries.take("callbacks", 16, HOLD_S, 3)
    assert [each.owner for each in due] == ["alice"] * MOST_OF_ONE + ["bob"]
    due = await deliveries.take("callbacks", 16, HOLD_S, 3, {"alice": MOST_OF_ONE})
    assert due == []
    assert await redis.zcard("halfbyte:callbacks") == len(floods) + 1
    put_off = {each for each in floods if await redis.exists(f"halfbyte:delivery:{each}") == 0}
    assert len(put_off) == len(floods) - MOST_OF_ONE  # and no attempt is counted
    for job_id in put_off:
        await redis.zadd("halfbyte:callbacks", {job_id: 0})
    due = await deliveries.take("callbacks", 16, HOLD_S, 3, {"alice": 1})
    assert {each.id for each in due} <= put_off
    assert len(due) == MOST_OF_ONE - 1
