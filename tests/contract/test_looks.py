"""Looks at jobs share trips to Redis, and nobody's is spoilt by a neighbour's."""

import asyncio

import pytest

from contract import scripts
from contract.errors import JobNotFound, QueueUnavailable
from contract.job import JobState
from contract.looks import Looks
from contract.queue import JobQueue
from contract.settings import QueueSettings
from tests.contract.examples import passed, submission, worker
from tests.redis_server import SERVERS, RedisServer


@pytest.fixture
def trips(queue, monkeypatch) -> list[int]:
    """How many jobs each trip looked at."""
    counted: list[int] = []
    run = queue.store.run

    async def counting(script, *blobs, **arguments):
        if script is scripts.LOOK:
            counted.append(len(arguments["ids"]))
        return await run(script, *blobs, **arguments)

    monkeypatch.setattr(queue.store, "run", counting)
    return counted


async def test_who_asks_during_a_trip_shares_the_next(queue, trips, wait_until):
    jobs = [await queue.submit(submission(), "alice") for _ in range(8)]
    looks = Looks(queue.store)
    first = asyncio.create_task(looks.at(jobs[0].id))
    await wait_until(lambda: trips, "the first trip")
    found = await asyncio.gather(first, *(looks.at(job.id) for job in jobs))
    assert [look.job for look in found] == [jobs[0], *jobs]
    assert trips == [1, 8]


async def test_a_look_sees_what_was_written_before_it(queue):
    looks = Looks(queue.store)
    job = await queue.submit(submission(), "alice")
    earlier = [asyncio.create_task(looks.at(job.id)) for _ in range(3)]
    await asyncio.sleep(0)
    await queue.cancel(job.id)
    assert (await looks.at(job.id)).job.state is JobState.CANCELLED
    await asyncio.gather(*earlier)


async def test_an_unknown_job_and_a_client_that_left_spoil_nothing(queue):
    looks = Looks(queue.store)
    job = await queue.submit(submission(), "alice")
    left, unknown, found = (
        asyncio.create_task(looks.at(each)) for each in (job.id, "0" * 32, job.id)
    )
    await asyncio.sleep(0)
    left.cancel()
    with pytest.raises(JobNotFound):
        await unknown
    assert (await found).job == job
    assert (await looks.at(job.id)).job == job


async def test_a_finished_job_comes_with_its_verdict_as_bytes(queue):
    job = await queue.submit(submission(), "alice")
    await queue.finish(await queue.claim(worker(), 0), passed())
    look = await Looks(queue.store).at(job.id)
    assert look.job == (await queue.get(job.id)).model_copy(update={"verdict": None})
    assert b'"outcome":"passed"' in look.verdict
    assert look.review == b"[]"


async def test_everybody_hears_that_redis_is_away_and_later_looks_work(tmp_path):
    server = RedisServer(SERVERS["valkey9"], tmp_path, durable=True).start()
    queue = JobQueue.connect(QueueSettings(redis_url=server.url))
    try:
        job = await queue.submit(submission(), "alice")
        looks = Looks(queue.store)
        server.end()
        heard = await asyncio.gather(*(looks.at(job.id) for _ in range(3)), return_exceptions=True)
        assert [type(each) for each in heard] == [QueueUnavailable] * 3
        server.start()
        assert (await looks.at(job.id)).job == job
    finally:
        await queue.close()
        server.end()
