"""The worker's loop in a process of its own, on a real queue; the judge is chaos_judge.py."""

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contract.job import JobState
from contract.queue import JobQueue
from contract.settings import QueueSettings
from contract.submission import Mode, Submission
from kernels.problem import Case
from tests.conftest import WaitUntil
from tests.system.chaos_processes import STAND_IN_WORKER, Part, environment
from worker.process_tree import children


def lasting(seconds: float, size_bytes: int = 0) -> Submission:
    return Submission(
        problem="nvfp4_group_gemm",
        mode=Mode.TEST,
        cases=(Case(m=(2,), n=(3,), k=(16,)),),
        source=f"# lasts {seconds} s\n".encode() + b"#" * size_bytes,
    )


@pytest.fixture
async def worker(
    queue: JobQueue, queue_settings: QueueSettings, tmp_path: Path, wait_until: WaitUntil
) -> AsyncIterator[Part]:
    env = environment(queue_settings.redis_url, lease_s=15, beat_s=2, first_uid=62_300)
    part = Part("worker", STAND_IN_WORKER, env, tmp_path)
    part.start()
    try:
        await wait_until(queue.workers, "it is on the list", 60)
        yield part
    finally:
        part.thaw()
        part.ask_to_end()
        code = part.exit_code(30)
    assert code == 0, part.log.read_text()


async def test_a_worker_that_was_asked_to_stop_takes_no_job_that_comes_after(
    queue: JobQueue, worker: Part
) -> None:
    worker.freeze()  # so that it hears of both at once
    worker.ask_to_end()
    job = await queue.submit(lasting(0), "me")
    worker.thaw()
    assert worker.exit_code(30) == 0
    left = await queue.get(job.id)
    assert (left.state, left.attempts) == (JobState.QUEUED, 0)


async def test_a_judge_that_hangs_before_it_has_read_its_job_does_not_hold_up_a_cancel(
    queue: JobQueue, worker: Part, wait_until: WaitUntil
) -> None:
    (hung,) = children(worker.pid)
    os.kill(hung, signal.SIGSTOP)
    job = await queue.submit(lasting(0, 900_000), "me")  # more than a socket holds

    async def is_running() -> bool:
        return (await queue.get(job.id)).state == JobState.RUNNING

    await wait_until(is_running, "the job runs")
    await queue.cancel(job.id)
    await wait_until(lambda: hung not in children(worker.pid), "the judge is replaced")
    following = await queue.submit(lasting(0), "me")
    assert (await queue.wait(following.id, 30)).state == JobState.FINISHED


async def test_a_judge_that_is_killed_costs_an_attempt_and_the_worker_starts_another(
    queue: JobQueue, worker: Part, wait_until: WaitUntil
) -> None:
    job = await queue.submit(lasting(1), "me")

    async def in_judge() -> bool:
        return (await queue.get(job.id)).progress is not None

    await wait_until(in_judge, "it is being judged")
    (judge,) = children(worker.pid)
    os.kill(judge, signal.SIGKILL)
    ended = await queue.wait(job.id, 30)
    assert (ended.state, ended.attempts) == (JobState.FINISHED, 2)


async def test_a_device_that_fails_its_proof_leaves_the_pool_and_says_why(
    queue: JobQueue, worker: Part, wait_until: WaitUntil
) -> None:
    job = await queue.submit(lasting(0).model_copy(update={"source": b"# lasts 0 s, breaks"}), "me")
    assert (await queue.wait(job.id, 30)).state == JobState.FINISHED
    following = await queue.submit(lasting(0), "me")

    async def unfit() -> list[str | None]:
        return [each.reason for each in await queue.workers() if each.state == "unhealthy"]

    assert await wait_until(unfit, "the worker says so", 10) == ["the device multiplies wrongly"]
    assert (await queue.get(following.id)).state == JobState.QUEUED


async def test_its_log_tells_when_it_is_ready_what_it_did_and_when_it_went(
    queue: JobQueue, worker: Part
) -> None:
    job = await queue.submit(lasting(0), "me")
    await queue.wait(job.id, 30)
    (told,) = await queue.workers()
    worker.ask_to_end()
    assert worker.exit_code(30) == 0
    lines = [line.split(" halfbyte.worker: ")[-1] for line in worker.log.read_text().splitlines()]
    assert lines[0] == (
        f'ready worker="{told.id}" device="{told.device}" sandbox_level={told.sandbox_level}'
    )
    # The job has ended for us before the worker is through with it: the two may change places.
    assert sorted(lines[1:4]) == [
        f'claimed job="{job.id}" attempt=1',
        f'done job="{job.id}" attempt=1',
        f'stopping worker="{told.id}"',
    ]
    assert lines[4:] == [f'stopped worker="{told.id}"']
