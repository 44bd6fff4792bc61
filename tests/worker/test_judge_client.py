"""A judge that is lost, in whatever way, is a `JudgeLost` and nothing else."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

from contract.submission import Mode, Submission
from kernels.problem import Case
from worker.judge_client import JudgeClient, JudgeLost
from worker.settings import WorkerSettings

READY = (
    b'{"type": "ready", "serves": ["cpu"], "sandbox_level": 0, "environment": {"host": "h", '
    b'"device": "cpu", "python": "3.11", "torch": "2", "triton": "3", "halfbyte": "0"}}\n'
)
SUBMISSION = Submission(
    problem="nvfp4_group_gemm", mode=Mode.TEST, cases=(Case(m=(2,), n=(3,), k=(16,)),), source=b"x"
)
LARGE = b"#" * 900_000
"""More than the socket holds."""


def judge_that(does: str) -> type[JudgeClient]:
    """A judge in a few lines, which has `worker`, a socket, and begins with READY."""
    script = (
        "import os, socket, sys, time\n"
        "worker = socket.socket(fileno=int(sys.argv[1]))\n"
        "worker.recv(65536)\n"
        f"{does}\n"
    )

    class Scripted(JudgeClient):
        COMMAND = (sys.executable, "-I", "-c", script)

    return Scripted


@pytest.fixture
async def clients() -> AsyncIterator[list[JudgeClient]]:
    made: list[JudgeClient] = []
    yield made
    for client in made:
        await client.close()


@pytest.mark.parametrize(
    "does", ["worker.sendall(b'good morning\\n')", "worker.sendall(b'{}\\n')", "pass"]
)
async def test_one_that_says_nothing_of_ours_at_its_start_is_lost(
    clients: list[JudgeClient], does: str
) -> None:
    client = judge_that(does)(WorkerSettings(), {})
    clients.append(client)
    with pytest.raises(JudgeLost):
        await client.start()


async def test_one_whose_device_failed_its_proof_says_why(clients: list[JudgeClient]) -> None:
    says = b'{"type": "unhealthy", "message": "the device multiplies wrongly"}\n'
    client = judge_that(f"worker.sendall({says!r})")(WorkerSettings(), {})
    clients.append(client)
    with pytest.raises(JudgeLost, match="multiplies wrongly"):
        await client.start()


@pytest.mark.parametrize(
    "does",
    [
        "pass",
        "worker.recv(1)",  # leaves the rest unread: the connection is reset
        "worker.recv(1); os.kill(os.getpid(), 9)",
        "worker.makefile('rb').readline(); worker.sendall(b'good morning\\n'); time.sleep(1000)",
    ],
)
async def test_one_that_ends_or_babbles_in_the_middle_of_a_job_is_lost(
    clients: list[JudgeClient], does: str
) -> None:
    client = judge_that(f"worker.sendall({READY!r})\n{does}")(WorkerSettings(), {})
    clients.append(client)
    await client.start()
    with pytest.raises(JudgeLost):
        async for _ in client.judge(SUBMISSION, LARGE):
            pass


def test_a_judge_whose_worker_died_before_it_began_ends_at_once() -> None:
    ours, theirs = socket.socketpair()
    ours.close()
    with theirs:
        ended = subprocess.run(
            [sys.executable, "-I", "-v", "-m", "worker.judge_start", str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
            capture_output=True,
            timeout=30,
            check=False,
        )
    assert ended.returncode == 0
    assert b"import 'torch'" not in ended.stderr


async def test_its_end_takes_no_process_that_was_there_before_it() -> None:
    sleeper = (sys.executable, "-c", "import time; time.sleep(600)")
    other = await asyncio.create_subprocess_exec(*sleeper)
    try:
        client = judge_that(f"worker.sendall({READY!r})\nworker.recv(1)")(WorkerSettings(), {})
        await client.start()
        await client.close()
        os.kill(other.pid, 0)  # raises where there is no such process
        assert other.returncode is None
    finally:
        other.kill()
        await other.wait()
