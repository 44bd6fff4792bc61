"""The command that tells a container engine whether its worker is alive."""

import asyncio
import os
import socket
import sys

import pytest

from contract.job import WorkerInfo, WorkerState
from contract.queue import JobQueue
from contract.settings import QueueSettings
from tests.redis_server import RedisServer

Ended = tuple[int, str]
BEAT_S, LEASE_S = 20, 80
"""So that a beat is fresh when the command has started, on a busy machine too."""


@pytest.fixture
def queue_settings(redis_server: RedisServer) -> QueueSettings:
    return QueueSettings(redis_url=redis_server.url, beat_s=BEAT_S, lease_s=LEASE_S)


async def health(redis_url: str) -> Ended:
    settings = {
        "HALFBYTE_QUEUE_REDIS_URL": redis_url,
        "HALFBYTE_QUEUE_BEAT_S": str(BEAT_S),
        "HALFBYTE_QUEUE_LEASE_S": str(LEASE_S),
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-m", "worker.health"),
        env={**os.environ, **settings},
        stderr=asyncio.subprocess.PIPE,
    )
    _, stderr = await process.communicate()
    return process.returncode, stderr.decode()


def worker(state: WorkerState, host: str | None = None) -> WorkerInfo:
    return WorkerInfo(
        id=f"w-{state}",
        pid=1,
        host=host or socket.gethostname(),
        device="cpu",
        serves=("cpu", "any"),
        python="3.11",
        sandbox_level=1,
        state=state,
    )


@pytest.mark.parametrize("state", [WorkerState.IDLE, WorkerState.BUSY, WorkerState.DRAINING])
async def test_a_worker_that_beats_is_healthy_whatever_it_does(
    queue: JobQueue, queue_settings: QueueSettings, state: WorkerState
) -> None:
    await queue.heartbeat(worker(state))
    assert await health(queue_settings.redis_url) == (0, "")


async def test_a_device_that_failed_its_proof_is_not_healthy(
    queue: JobQueue, queue_settings: QueueSettings
) -> None:
    broken = worker(WorkerState.UNHEALTHY).model_copy(update={"reason": "it multiplies wrongly"})
    await queue.heartbeat(broken)
    status, words = await health(queue_settings.redis_url)
    assert status == 1
    assert "w-unhealthy can judge nothing: it multiplies wrongly" in words


async def test_the_heartbeat_of_another_host_says_nothing_about_this_one(
    queue: JobQueue, queue_settings: QueueSettings
) -> None:
    await queue.heartbeat(worker(WorkerState.IDLE, host="elsewhere"))
    status, words = await health(queue_settings.redis_url)
    assert status == 1
    assert f"no worker of {socket.gethostname()} has a fresh heartbeat" in words


async def test_a_worker_is_not_healthy_while_redis_is_away() -> None:
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        status, words = await health(f"redis://127.0.0.1:{taken.getsockname()[1]}/0")
    assert status == 1
    assert words.strip()
    assert "Traceback" not in words
