"""Modes that need more than a device wait in lines of their own, which fit workers serve."""

import asyncio

import pytest

from contract.device import CPU
from contract.job import JobState, WorkerInfo
from contract.operations import Operations
from contract.queue import JobQueue
from contract.submission import Mode
from tests.contract.examples import submission, worker


def gpu(ranked: bool = False) -> WorkerInfo:
    facts = {"device": "H200", "ranked": ranked}
    return worker(serves=("H200", "any")).model_copy(update=facts)


def test_a_worker_serves_what_it_is_fit_for() -> None:
    assert worker(serves=(CPU, "any")).lines == (CPU, "any")
    own = {f"{mode}/{device}" for mode in ("profile", "compare") for device in ("H200", "any")}
    assert set(gpu().lines) == {"H200", "any"} | own
    assert set(gpu(ranked=True).lines) == {*gpu().lines, "ranked/H200", "ranked/any"}


@pytest.mark.parametrize("device", ["any", "H200"])
async def test_a_ranked_job_goes_to_a_worker_that_ranks(queue: JobQueue, device: str) -> None:
    job = await queue.submit(submission(Mode.RANKED, device), "me")
    assert (job.device, job.position) == (device, 1)
    assert await queue.claim(worker(serves=(CPU, "any")), 0) is None
    assert await queue.claim(gpu(), 0) is None
    assert await queue.depth() == {device: 1}
    lease = await queue.claim(gpu(ranked=True), 0)
    assert lease is not None
    assert (lease.job.id, lease.job.device, lease.submission.device) == (job.id, device, device)


async def test_a_profile_goes_to_any_worker_with_a_gpu(queue: JobQueue) -> None:
    job = await queue.submit(submission(Mode.PROFILE), "me")
    assert await queue.claim(worker(serves=(CPU, "any")), 0) is None
    lease = await queue.claim(gpu(), 0)
    assert lease is not None
    assert lease.job.id == job.id


async def test_a_worker_that_waits_is_woken_by_a_ranked_job(
    queue: JobQueue, only_the_bell: None
) -> None:
    waiting = asyncio.create_task(queue.claim(gpu(ranked=True), 30))
    await asyncio.sleep(0)
    job = await queue.submit(submission(Mode.RANKED), "me")
    lease = await waiting
    assert lease is not None
    assert lease.job.id == job.id


async def test_operators_see_the_device_and_the_mode(queue: JobQueue) -> None:
    await queue.submit(submission(Mode.RANKED, "H200"), "me")
    (line,) = (await Operations(queue.store).figures()).lines
    assert (line.device, line.mode, line.waiting) == ("H200", Mode.RANKED, 1)


async def test_a_ranked_job_that_nobody_may_run_ends_with_the_reason(queue, redis, reap_expired):
    for alive in (worker(serves=(CPU, "any")), gpu().model_copy(update={"id": "w2"})):
        await queue.heartbeat(alive)
    job = await queue.submit(submission(Mode.RANKED), "me")
    await redis.hset(f"halfbyte:job:{job.id}", "queued_at", 0)
    assert await reap_expired() == [job.id]
    ended = await queue.get(job.id)
    assert (ended.state, ended.error.reason) == (JobState.FAILED, "no_worker")
    assert "a sandbox fit for ranked runs served device any" in ended.error.message
