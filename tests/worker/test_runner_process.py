"""The judge's end of the socket, with scripts in the place of an honest runner."""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest

from contract.limits import Limits
from worker.arena import Place
from worker.ends import Answered, Broke, Died, Overran
from worker.protocol import Job
from worker.runner_process import Interrupted, RunnerFailed, RunnerProcess
from worker.sandbox.confinement import Confined, Launch
from worker.sandbox.unconfined import Unconfined

START = """
import array, os, socket, struct, sys, time
judge = socket.socket(fileno=int(sys.argv[1]))
def answer(token, status, text=b""):
    head = struct.pack("<IQHIddH", 0x68423031, token, status, 0, 1.0, 1.0, len(text))
    judge.send(head + text.ljust(3072, b"\\0"))
def call():
    return struct.unpack("<IQQQI", judge.recv(64))[1]
READY, IMPORTED, DONE = range(3)
answer(0, READY)
"""
FOREVER = "\ntime.sleep(1000)\n"
PLACE = Place(4096, 0)


@dataclass(frozen=True)
class Scripted:
    """A sandbox that starts a script instead of the runner."""

    script: str
    description: str = "a script"
    level: int = 0

    def start(self, launch: Launch) -> Confined:
        argv = (sys.executable, "-I", "-S", "-c", self.script, str(launch.socket_fd))
        return Unconfined().start(replace(launch, argv=argv))


Start = Callable[[str], RunnerProcess]


@pytest.fixture
def never() -> Iterator[int]:
    fd = os.eventfd(0, os.EFD_CLOEXEC)
    yield fd
    os.close(fd)


@pytest.fixture
def start(never: int) -> Iterator[Start]:
    started: list[RunnerProcess] = []

    def of(script: str) -> RunnerProcess:
        runner = RunnerProcess(Scripted(START + script), {}, Limits())
        started.append(runner)
        runner.wait_ready(never)
        return runner

    yield of
    for runner in started:
        runner.close()


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_runner_that_reads_nothing_cannot_make_the_judge_wait(start: Start, never: int) -> None:
    runner = start(FOREVER)
    token = [runner.prepare(PLACE, 1) for _ in range(1000)][-1]
    assert isinstance(runner.answer(token, 0.01, never), Overran)


def test_descriptors_sent_by_a_runner_are_never_received(start: Start, never: int) -> None:
    runner = start(
        "rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0] * 200))]\n"
        "judge.recv(64)\n"
        "judge.sendmsg([b'x'], rights)" + FOREVER
    )
    before = descriptors()
    job = Job(1, 1, 1, emulated=True, problem="nvfp4_group_gemm")
    runner.hand_over(job, (0, 1, 2))
    assert runner.answer(0, 10, never) == Broke("a record of 1 bytes")
    assert descriptors() <= before  # fewer: the pipes of its output have ended


def test_an_answer_to_another_call_breaks_the_protocol(start: Start, never: int) -> None:
    runner = start("answer(call() ^ 1, DONE)" + FOREVER)
    token = runner.prepare(PLACE, 1)
    assert runner.answer(token, 10, never) == Broke("an answer to no call")


def test_an_answer_is_not_kept_for_the_next_call(start: Start, never: int) -> None:
    runner = start("first = call()\nanswer(first, DONE)\nanswer(first, DONE)" + FOREVER)
    token = runner.prepare(PLACE, 1)
    assert isinstance(runner.answer(token, 10, never), Answered)
    token = runner.prepare(PLACE, 1)
    assert runner.answer(token, 10, never) == Broke("an answer to no call")


def test_answers_without_end_are_not_read(start: Start, never: int) -> None:
    runner = start("while True: answer(1, DONE)")
    token = runner.prepare(PLACE, 1)
    assert runner.answer(token, 10, never) == Broke("an answer to no call")


def test_the_end_of_the_process_comes_with_its_status(start: Start, never: int) -> None:
    runner = start("call()\nos._exit(7)")
    token = runner.prepare(PLACE, 1)
    assert runner.answer(token, 10, never) == Died(7, out_of_memory=False)


def test_silence_is_an_overrun_and_ends_the_process(start: Start, never: int) -> None:
    runner = start(FOREVER)
    token = runner.prepare(PLACE, 1)
    assert runner.answer(token, 0.05, never) == Overran(0.05)
    assert not runner.alive()


def test_a_cancel_ends_a_wait(start: Start, never: int) -> None:
    runner = start(FOREVER)
    token = runner.prepare(PLACE, 1)
    os.eventfd_write(never, 1)
    with pytest.raises(Interrupted):
        runner.answer(token, 10, never)
    assert not runner.alive()


def test_a_runner_that_does_not_come_up_says_why_and_blames_nobody(never: int) -> None:
    runner = RunnerProcess(Scripted("raise SystemExit('no torch here')"), {}, Limits())
    with pytest.raises(RunnerFailed):
        runner.wait_ready(never)
    runner.close()
    assert "no torch here" in runner.stderr.text()


def test_nothing_is_left_open_once_a_runner_is_closed(start: Start, never: int) -> None:
    start("").close()
    before = descriptors()
    for _ in range(5):
        start("os.write(1, b'x' * 300_000)" + FOREVER).close()
    assert descriptors() == before
