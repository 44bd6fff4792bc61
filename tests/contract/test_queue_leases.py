"""Leases: who may write, who may not any more, and what becomes of a job whose worker is gone."""

import asyncio

import pytest
from pydantic import ValidationError

from contract.errors import LeaseLost
from contract.job import JobState, Progress
from contract.queue import JobQueue
from contract.settings import QueueSettings
from tests.contract.examples import LOST, passed, submission, worker


async def refuse_everything(queue, lease, *, cancelled):
    before = await queue.get(lease.job.id)
    for write in (
        queue.renew(lease),
        queue.progress(lease, Progress(stage="testing")),
        queue.finish(lease, passed("stale")),
        queue.release(lease, LOST),
    ):
        with pytest.raises(LeaseLost) as lost:
            await write
        assert lost.value.cancelled is cancelled
    assert await queue.get(lease.job.id) == before


async def test_a_worker_that_lost_its_job_writes_nothing(queue, reap_expired):
    await queue.submit(submission(), "alice")
    stale = await queue.claim(worker("w1"), 0)
    assert await reap_expired(stale) == [stale.job.id]
    await refuse_everything(queue, stale, cancelled=False)
    live = await queue.claim(worker("w2"), 0)
    await refuse_everything(queue, stale, cancelled=False)
    await queue.finish(live, passed())
    await refuse_everything(queue, stale, cancelled=False)
    assert (await queue.get(live.job.id)).verdict == passed()


async def test_the_same_worker_with_an_older_lease_writes_nothing(queue):
    await queue.submit(submission(), "alice")
    stale = await queue.claim(worker(), 0)
    await queue.release(stale, LOST, count_attempt=False)
    live = await queue.claim(worker(), 0)
    assert (stale.worker, stale.attempt) == (live.worker, live.attempt)
    with pytest.raises(LeaseLost):
        await queue.finish(stale, passed("stale"))
    await queue.finish(live, passed())


async def test_a_job_that_kills_its_workers_fails_and_never_runs_a_third_time(
    queue_settings, wait_until
):
    """In real time: nobody renews, reapers call as often as they do in service."""
    queue = JobQueue.connect(queue_settings.model_copy(update={"lease_s": 0.3, "beat_s": 0.05}))
    job = await queue.submit(submission(), "alice")
    for name in ("w1", "w2"):
        assert (await queue.claim(worker(name), 0)).job.id == job.id
        assert await wait_until(queue.reap, "the lease to expire") == [job.id]
    job = await queue.get(job.id)
    assert (job.state, job.attempts, job.error.reason) == (JobState.FAILED, 2, "worker_lost")
    assert "w2" in job.error.message
    assert await queue.claim(worker("w3"), 0) is None
    await queue.close()


async def test_a_lease_that_is_renewed_is_not_reaped(queue, redis, reap_expired):
    await queue.submit(submission(), "alice")
    lease = await queue.claim(worker(), 0)
    await redis.zadd("halfbyte:leases", {lease.job.id: 0})
    await queue.renew(lease)
    assert await reap_expired() == []


async def test_a_reaped_job_returns_to_its_old_place(queue, reap_expired):
    for _ in range(3):
        await queue.submit(submission(), "alice")
    lease = await queue.claim(worker(), 0)
    await reap_expired(lease)
    assert (await queue.get(lease.job.id)).position == 1


async def test_cancelling_a_running_job_ends_it_and_refuses_its_worker(queue):
    await queue.submit(submission(), "alice")
    lease = await queue.claim(worker(), 0)
    job = await queue.cancel(lease.job.id)
    assert (job.state, job.worker) == (JobState.CANCELLED, "w1")
    await refuse_everything(queue, lease, cancelled=True)


async def settle(waiting):
    """Let a task look once and begin to wait."""
    await asyncio.wait({waiting}, timeout=0.1)
    assert not waiting.done()


async def test_a_worker_hears_of_a_cancel(queue, queue_settings, only_the_bell):
    await queue.submit(submission(), "alice")
    lease = await queue.claim(worker(), 0)
    heard = asyncio.ensure_future(queue.cancelled(lease))
    await settle(heard)
    service = JobQueue.connect(queue_settings)
    await service.cancel(lease.job.id)
    await heard
    await service.close()


async def test_a_worker_hears_that_its_lease_is_lost(queue, reap_expired, only_the_bell):
    await queue.submit(submission(), "alice")
    lease = await queue.claim(worker(), 0)
    heard = asyncio.ensure_future(queue.cancelled(lease))
    await settle(heard)
    await reap_expired(lease)
    await heard


async def test_waiting_for_a_cancel_can_itself_be_cancelled(queue):
    await queue.submit(submission(), "alice")
    lease = await queue.claim(worker(), 0)
    for passes in range(40):
        waiting = asyncio.ensure_future(queue.cancelled(lease))
        for _ in range(passes):
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting


async def test_a_cancelled_claim_gives_back_what_it_took(queue):
    job = await queue.submit(submission(), "alice")
    for passes in range(40):
        claiming = asyncio.ensure_future(queue.claim(worker(), 20))
        for _ in range(passes):
            await asyncio.sleep(0)
        if not claiming.cancel():
            await queue.release(claiming.result(), LOST, count_attempt=False)
            continue
        with pytest.raises(asyncio.CancelledError):
            await claiming
        job = await queue.get(job.id)
        assert (job.state, job.attempts, job.position) == (JobState.QUEUED, 0, 1)


async def test_a_claim_that_waits_is_woken_by_a_submission(queue, queue_settings, only_the_bell):
    claiming = asyncio.ensure_future(queue.claim(worker(), 3600))
    await settle(claiming)
    service = JobQueue.connect(queue_settings)
    job = await service.submit(submission(), "alice")
    assert (await claiming).job.id == job.id
    await service.close()


async def test_workers_that_claim_at_once_get_different_jobs(queue):
    jobs = [await queue.submit(submission(), f"owner {number % 3}") for number in range(60)]
    leases = await asyncio.gather(*(queue.claim(worker(f"w{n}"), 0) for n in range(80)))
    claimed = [lease.job.id for lease in leases if lease is not None]
    assert sorted(claimed) == sorted(job.id for job in jobs)


async def test_nothing_is_reaped_for_a_lease_after_nobody_was_there_to_reap(queue_settings, redis):
    queue = JobQueue.connect(queue_settings.model_copy(update={"lease_s": 600}))
    await queue.submit(submission(), "alice")
    lease = await queue.claim(worker(), 0)
    await redis.zadd("halfbyte:leases", {lease.job.id: 0})
    assert await queue.reap() == []
    assert await queue.reap() == []
    assert await redis.pttl("halfbyte:quiet") > 590_000
    await redis.delete("halfbyte:quiet")
    assert await queue.reap() == [lease.job.id]
    await queue.close()


def test_a_lease_too_short_for_its_beats_is_refused():
    """Reapers that call less often than twice a lease would take every gap for an outage."""
    with pytest.raises(ValidationError, match="four beat_s"):
        QueueSettings(lease_s=7, beat_s=2)


async def test_a_job_for_a_device_without_worker_fails(queue_settings, wait_until):
    settings = queue_settings.model_copy(
        update={"no_worker_s": 0.3, "lease_s": 0.1, "beat_s": 0.02}
    )
    queue = JobQueue.connect(settings)
    served = await queue.submit(submission(device="cpu"), "alice")
    unserved = await queue.submit(submission(device="B200"), "alice")

    async def beat_and_reap():
        await queue.heartbeat(worker(serves=("cpu", "any")))
        return await queue.reap()

    assert await wait_until(beat_and_reap) == [unserved.id]
    job = await queue.get(unserved.id)
    assert (job.state, job.error.reason) == (JobState.FAILED, "no_worker")
    assert "B200" in job.error.message
    assert (await queue.get(served.id)).state is JobState.QUEUED
    await queue.close()


async def test_a_job_waits_on_while_its_worker_was_there_of_late(queue, redis, reap_expired):
    """The time without a worker counts, not the time in the queue."""
    job = await queue.submit(submission(), "alice")
    await queue.heartbeat(worker())
    await queue.goodbye("w1")
    await redis.hset(f"halfbyte:job:{job.id}", "queued_at", 0)
    assert await reap_expired() == []
    await redis.zadd("halfbyte:served", {"any": 0})
    assert await reap_expired() == [job.id]


async def test_a_worker_that_stops_beating_drops_off_the_list(queue_settings, wait_until):
    queue = JobQueue.connect(queue_settings.model_copy(update={"beat_s": 0.05}))
    await queue.heartbeat(worker())

    async def nobody():
        return await queue.workers() == []

    await wait_until(nobody, "the beat to be forgotten")
    await queue.close()
