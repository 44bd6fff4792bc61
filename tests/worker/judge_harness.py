"""A real judge process, spoken to over its own messages."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from contract.job import Progress
from contract.limits import Limits
from contract.submission import Mode, Submission
from contract.verdict import Verdict
from kernels.problem import Case
from worker.main import judge_environment
from worker.messages import (
    FROM_JUDGE,
    Begin,
    Cancel,
    Configure,
    Failed,
    FromJudge,
    Judged,
    Progressed,
    Ready,
    line,
)
from worker.settings import WorkerSettings

LIMITS = Limits(import_s=10, call_s=5, emulated_call_s=5, job_s=60, memory_bytes=1 << 30)
MIXED = Case(m=(8, 16, 5), n=(32, 16, 24), k=(256, 512, 64))
SAME_SIZES = Case(m=(16, 16), n=(32, 32), k=(64, 64))


JUDGE = ("-m", "worker.judge_main")


class JudgeHarness:
    """One judge, one job at a time."""

    def __init__(self, settings: WorkerSettings, program: tuple[str, ...] = JUDGE) -> None:
        ours, theirs = socket.socketpair()
        self.process = subprocess.Popen(
            [sys.executable, "-I", *program, str(theirs.fileno())],
            env=judge_environment(settings),
            pass_fds=(theirs.fileno(),),
        )
        theirs.close()
        ours.settimeout(120)
        self._socket = ours
        self._lines = ours.makefile("rb")
        self.send(Configure(settings=settings))
        ready = self.receive()
        assert isinstance(ready, Ready)
        self.ready = ready

    def send(self, message) -> None:
        self._socket.sendall(line(message))

    def receive(self) -> FromJudge:
        return FROM_JUDGE.validate_json(self._lines.readline())

    def begin(
        self,
        source: bytes = b"",
        cases: tuple[Case, ...] = (MIXED,),
        *,
        kernel: str | None = None,
        limits: Limits = LIMITS,
        mode: Mode = Mode.TEST,
        targets: tuple[str, ...] = (),
        problem: str = "nvfp4_group_gemm",
    ) -> None:
        submission = Submission(
            problem=problem,
            mode=mode,
            cases=cases,
            kernel=kernel,
            source=source or None,
            targets=targets,
            limits=limits,
        )
        self.send(Begin(submission=submission, source=source))

    def cancel(self) -> None:
        self.send(Cancel())

    def end(self, progress: list[Progress] | None = None) -> FromJudge:
        """Return what the job ended with."""
        while isinstance(message := self.receive(), Progressed):
            if progress is not None:
                progress.append(message.progress)
        return message

    def judge(self, *args, **kwargs) -> Verdict:
        return self.judged(*args, **kwargs).verdict

    def judged(self, *args, **kwargs) -> Judged:
        """Return the verdict with the texts beside it."""
        self.begin(*args, **kwargs)
        match self.end():
            case Judged() as judged:
                return judged
            case Failed(fault=fault):
                raise AssertionError(f"our fault: {fault}")
            case other:
                raise AssertionError(f"unexpected {other}")

    def close(self) -> None:
        self._lines.close()
        self._socket.close()
        self.process.wait(30)


@contextmanager
def running_judge(
    settings: WorkerSettings | None = None, program: tuple[str, ...] = JUDGE
) -> Iterator[JudgeHarness]:
    judge = JudgeHarness(settings or WorkerSettings(limits=LIMITS), program)
    try:
        yield judge
    finally:
        judge.close()


def descendants(pid: int) -> list[int]:
    """All processes below `pid`."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as stat:
                    parent = int(stat.read().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent == pid:
                found += [int(entry), *descendants(int(entry))]
    return found
