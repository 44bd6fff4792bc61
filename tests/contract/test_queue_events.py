"""Following a job: its events, resumed where they broke off, and waiting for its end."""

import asyncio
import contextlib

import pytest

from contract.errors import JobNotFound
from contract.job import JobState, Progress
from contract.queue import JobQueue
from tests.contract.examples import LOST, passed, submission, worker


async def run_one(queue, cases=3):
    """Run the next job with some progress; return its lease."""
    lease = await queue.claim(worker(), 20)
    for case in range(cases):
        await queue.progress(lease, Progress(stage="testing", case=case, cases=cases))
    await queue.finish(lease, passed())
    return lease


async def events_of(queue, job_id, after=None):
    return [event async for event in queue.events(job_id, after) if event is not None]


async def test_events_tell_the_life_of_a_job_and_end_with_it(queue):
    job = await queue.submit(submission(), "alice")
    following = asyncio.ensure_future(events_of(queue, job.id))
    await run_one(queue, cases=2)
    told = [(event.type, event.data) for event in await following]
    assert told == [
        ("state", {"state": "queued"}),
        ("state", {"state": "running"}),
        ("progress", {"stage": "testing", "case": 0, "cases": 2}),
        ("progress", {"stage": "testing", "case": 1, "cases": 2}),
        ("state", {"state": "finished"}),
    ]


async def test_events_resume_after_any_id_without_gaps_or_duplicates(queue):
    job = await queue.submit(submission(), "alice")
    await run_one(queue)
    events = await events_of(queue, job.id)
    assert len(events) > 2
    for seen, event in enumerate(events, start=1):
        assert await events_of(queue, job.id, event.id) == events[seen:]


async def test_events_of_another_process_arrive(queue, queue_settings):
    job = await queue.submit(submission(), "alice")
    service = JobQueue.connect(queue_settings)
    async with contextlib.aclosing(service.events(job.id)) as following:
        assert (await anext(following)).data == {"state": "queued"}
        await queue.claim(worker(), 0)
        assert (await anext(following)).data == {"state": "running"}
    await service.close()


async def test_a_quiet_job_gives_heartbeats(queue):
    job = await queue.submit(submission(), "alice")
    async with contextlib.aclosing(queue.events(job.id)) as following:
        assert await anext(following) is not None
        assert await anext(following) is None
        assert await anext(following) is None


async def test_a_job_that_is_put_back_is_queued_again_in_its_events(queue):
    job = await queue.submit(submission(), "alice")
    await queue.release(await queue.claim(worker(), 0), LOST)
    await queue.release(await queue.claim(worker(), 0), LOST)
    states = [event.data["state"] for event in await events_of(queue, job.id)]
    assert states == ["queued", "running", "queued", "running", "failed"]


@pytest.mark.parametrize("after", ["", "x", "1", "-1-1", "0-0", "99999999999999999999999-0"])
async def test_an_unknown_event_id_means_the_beginning(queue, after):
    job = await queue.submit(submission(), "alice")
    await queue.cancel(job.id)
    states = [event.data["state"] for event in await events_of(queue, job.id, after)]
    assert states == ["queued", "cancelled"]


async def test_the_events_of_an_unknown_job_are_not_found(queue):
    with pytest.raises(JobNotFound):
        await events_of(queue, "0" * 32)


async def test_the_stream_of_a_chatty_job_is_cut(queue_settings, redis):
    queue = JobQueue.connect(queue_settings.model_copy(update={"events_kept": 100}))
    job = await queue.submit(submission(), "alice")
    await run_one(queue, cases=1000)
    assert await redis.xlen(f"halfbyte:events:{job.id}") < 400
    assert (await events_of(queue, job.id))[-1].data == {"state": "finished"}
    await queue.close()


async def test_waiting_returns_when_the_job_ends(queue, queue_settings, only_the_bell):
    job = await queue.submit(submission(), "alice")
    waiting = asyncio.ensure_future(queue.wait(job.id, 3600))
    await asyncio.wait({waiting}, timeout=0.1)
    assert not waiting.done()
    another_process = JobQueue.connect(queue_settings)
    await run_one(another_process)
    assert (await waiting).verdict == passed()
    await another_process.close()


async def test_waiting_returns_the_job_as_it_is_at_the_timeout(queue):
    job = await queue.submit(submission(), "alice")
    assert (await queue.wait(job.id, 0)).state is JobState.QUEUED
    assert (await queue.wait(job.id, 0.05)).state is JobState.QUEUED


async def test_waiting_for_an_unknown_job_is_not_found(queue):
    with pytest.raises(JobNotFound):
        await queue.wait("0" * 32, 20)


async def test_two_hundred_waiters_share_few_connections_and_all_return(queue, redis):
    job = await queue.submit(submission(), "alice")
    waiting = [asyncio.ensure_future(queue.wait(job.id, 50)) for _ in range(200)]
    following = [asyncio.ensure_future(events_of(queue, job.id)) for _ in range(200)]
    await run_one(queue)
    assert {(await waiter).state for waiter in waiting} == {JobState.FINISHED}
    assert {len(await follower) for follower in following} == {6}
    assert len(await redis.client_list()) <= 40


async def test_a_waiter_that_gives_up_leaves_nothing_behind(queue):
    job = await queue.submit(submission(), "alice")
    for passes in range(30):
        waiting = asyncio.ensure_future(queue.wait(job.id, 50))
        for _ in range(passes):
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert queue._bell._listeners == {}
