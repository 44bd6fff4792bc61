"""Redis away, killed, hanging, or cut off between a command and its answer."""

import asyncio
import contextlib
import signal

import pytest

from contract.errors import QueueUnavailable
from contract.job import JobState, Progress
from contract.queue import JobQueue
from contract.settings import QueueSettings
from contract.store import connect
from tests.contract.examples import LOST, passed, submission, worker
from tests.contract.severed import SeveredRoad
from tests.redis_server import SERVERS, RedisServer


@pytest.fixture(params=sorted(SERVERS))
def durable_server(request, tmp_path):
    """A server of its own, for tests that end it; what it acknowledged is on disk."""
    server = RedisServer(SERVERS[request.param], tmp_path, durable=True).start()
    yield server
    server.end()


@pytest.fixture
async def durable_queue(durable_server):
    queue = JobQueue.connect(QueueSettings(redis_url=durable_server.url))
    yield queue
    await queue.close()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_accepted_jobs_survive_the_end_of_redis(durable_queue, durable_server, how):
    queue = durable_queue
    jobs = [await queue.submit(submission(), "alice") for _ in range(20)]
    lease = await queue.claim(worker(), 0)
    done = await queue.claim(worker("w2"), 0)
    await queue.finish(done, passed())
    durable_server.end(how)
    for call in (queue.ping(), queue.get(jobs[0].id), queue.submit(submission(), "alice")):
        with pytest.raises(QueueUnavailable):
            await call
    durable_server.start()
    assert (await queue.get(done.job.id)).verdict == passed()
    assert await queue.depth() == {"any": 18}
    await queue.renew(lease)
    await queue.finish(lease, passed())
    left = {(await queue.claim(worker(), 0)).job.id for _ in range(18)}
    assert left | {lease.job.id, done.job.id} == {job.id for job in jobs}


async def test_events_waiters_and_workers_outlast_an_outage(durable_queue, durable_server):
    queue = durable_queue
    job = await queue.submit(submission(), "alice")
    lease = await queue.claim(worker(), 0)
    heard_of_cancel = asyncio.ensure_future(queue.cancelled(lease))
    async with contextlib.aclosing(queue.events(job.id)) as following:
        first = [await anext(following), await anext(following)]
        durable_server.end()
        assert await anext(following) is None
        durable_server.start()
        waiting = asyncio.ensure_future(queue.wait(job.id, 50))
        await queue.progress(lease, Progress(stage="testing"))
        await queue.cancel(job.id)
        later = [event async for event in following if event is not None]
    assert [event.type for event in first + later] == ["state", "state", "progress", "state"]
    assert (await waiting).state is JobState.CANCELLED
    await heard_of_cancel


async def test_what_happened_before_the_bell_was_heard_again_is_not_missed(
    durable_queue, durable_server, monkeypatch
):
    """The waiter does not look again by itself, and nobody hears the message of the cancel."""
    monkeypatch.setattr("contract.queue.WAITERS_LOOK_AGAIN_S", 3600)
    job = await durable_queue.submit(submission(), "alice")
    waiting = asyncio.ensure_future(durable_queue.wait(job.id, 3600))
    await asyncio.wait({waiting}, timeout=0.1)
    durable_server.end()
    durable_server.start()
    another_process = JobQueue.connect(QueueSettings(redis_url=durable_server.url))
    await another_process.cancel(job.id)
    assert (await waiting).state is JobState.CANCELLED
    await another_process.close()


async def test_nothing_is_reaped_for_a_lease_after_an_outage(
    durable_queue, durable_server, wait_until
):
    """The outage lasts longer than the lease; its worker is there again when Redis is."""
    settings = QueueSettings(redis_url=durable_server.url, lease_s=2, beat_s=0.1)
    queue = JobQueue.connect(settings)
    await queue.submit(submission(), "alice")
    lease = await queue.claim(worker(), 0)
    await queue.reap()
    durable_server.end()
    expired = asyncio.get_running_loop().time() + settings.lease_s
    await wait_until(lambda: asyncio.get_running_loop().time() > expired, "the lease to expire")
    durable_server.start()
    assert await queue.reap() == []
    await queue.renew(lease)
    assert await queue.reap() == []
    await queue.finish(lease, passed())
    await queue.close()


async def test_a_hanging_redis_is_unavailable_and_does_not_stall_the_loop(
    durable_queue, durable_server
):
    await durable_queue.ping()
    durable_server.freeze()
    turns = 0
    asking = asyncio.ensure_future(durable_queue.ping())
    while not asking.done():
        await asyncio.sleep(0.01)
        turns += 1
    with pytest.raises(QueueUnavailable):
        await asking
    assert turns > 20
    durable_server.thaw()
    await durable_queue.ping()


async def test_closing_does_not_need_redis(durable_server):
    queue = JobQueue.connect(QueueSettings(redis_url=durable_server.url))
    job = await queue.submit(submission(), "alice")
    waiting = asyncio.ensure_future(queue.wait(job.id, 0.1))
    await waiting
    durable_server.end()
    await queue.close()


async def test_a_queue_without_redis_is_unavailable(durable_server):
    durable_server.end()
    queue = JobQueue.connect(QueueSettings(redis_url=durable_server.url))
    with pytest.raises(QueueUnavailable):
        await queue.claim(worker(), 20)
    with pytest.raises(QueueUnavailable):
        await queue.wait("0" * 32, 20)
    await queue.close()


@pytest.fixture
async def severed(redis_server):
    """A queue whose connection can be cut between a command and its answer."""
    async with SeveredRoad(redis_server.port).open() as road:
        queue = JobQueue.connect(QueueSettings(redis_url=road.url))
        yield road, queue
        await queue.close()


async def test_a_submit_whose_answer_is_lost_makes_one_job(severed):
    road, queue = severed
    await queue.submit(submission(), "alice")
    road.sever_next_answer()
    job = await queue.submit(submission(), "alice")
    assert (road.cuts, job.number) == (1, 2)
    assert await queue.depth() == {"any": 2}


async def test_a_claim_whose_answer_is_lost_takes_one_job(severed):
    road, queue = severed
    assert await queue.claim(worker(), 0) is None
    jobs = [await queue.submit(submission(), "alice") for _ in range(2)]
    road.sever_next_answer()
    lease = await queue.claim(worker(), 0)
    assert (road.cuts, lease.job.id, lease.attempt) == (1, jobs[0].id, 1)
    assert await queue.depth() == {"any": 1}
    await queue.finish(lease, passed())


@pytest.mark.parametrize("count_attempt", [True, False])
async def test_a_release_whose_answer_is_lost_counts_once(severed, count_attempt):
    road, queue = severed
    for _ in range(2):
        await queue.submit(submission(), "alice")
    await queue.release(await queue.claim(worker(), 0), LOST, count_attempt=count_attempt)
    lease = await queue.claim(worker(), 0)
    road.sever_next_answer()
    job = await queue.release(lease, LOST, count_attempt=count_attempt)
    assert road.cuts == 1
    assert job.attempts == (2 if count_attempt else 0)
    assert job.state is (JobState.FAILED if count_attempt else JobState.QUEUED)


async def test_a_verdict_whose_answer_is_lost_is_written_once(severed):
    road, queue = severed
    for _ in range(2):
        await queue.submit(submission(), "alice")
    await queue.finish(await queue.claim(worker(), 0), passed())
    lease = await queue.claim(worker(), 0)
    road.sever_next_answer()
    await queue.finish(lease, passed())
    assert road.cuts == 1
    events = [event async for event in queue.events(lease.job.id)]
    assert [event.data["state"] for event in events if event] == ["queued", "running", "finished"]


async def test_a_full_redis_refuses_writes_and_loses_nothing(durable_queue, durable_server):
    queue = durable_queue
    first, second = [await queue.submit(submission(), "alice") for _ in range(2)]
    lease = await queue.claim(worker(), 0)
    assert lease.job.id == first.id
    async with connect(durable_server.url) as redis:
        await redis.config_set("maxmemory", "512kb")  # less than half of what it has
        for write in (queue.submit(submission(), "alice"), queue.finish(lease, passed())):
            with pytest.raises(QueueUnavailable):
                await write
        assert (await queue.get(first.id)).state is JobState.RUNNING
        assert (await queue.get(second.id)).state is JobState.QUEUED
        await redis.config_set("maxmemory", "0")
    await queue.finish(lease, passed())
    assert (await queue.get(first.id)).verdict == passed()
    assert await queue.depth() == {"any": 1}
