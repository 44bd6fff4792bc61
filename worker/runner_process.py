"""The judge's handle on one runner: start it confined, hand it a job, call it, end it."""

import array
import os
import secrets
import select
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from contract.submission import Limits
from worker.capture import Capture
from worker.protocol import ANSWER_BYTES, Answer, Call, Job, ProtocolError, Status
from worker.sandbox.confinement import Confined, Launch, Sandbox

START_S: Final = 120
"""Longest wait for torch and triton to be imported, on a busy machine."""
DRAIN_S: Final = 2
EXIT_S: Final = 5
"""Between the end of the socket and the end of the process."""


class RunnerFailed(Exception):
    """A runner did not come up. Our fault: nobody's file was running yet."""


class Interrupted(Exception):
    """The job was cancelled."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The runner answered."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class Died:
    """The process ended: an exit status, or a signal as a negative number."""

    status: int
    out_of_memory: bool


@dataclass(frozen=True, slots=True)
class Overran:
    """No answer within the limit; the process was killed."""

    limit_s: float


@dataclass(frozen=True, slots=True)
class Broke:
    """The process sent what no honest runner sends, and was killed."""

    message: str


End = Answered | Died | Overran | Broke


class RunnerProcess:
    """One runner, from spare to corpse."""

    def __init__(self, sandbox: Sandbox, environment: dict[str, str], limits: Limits) -> None:
        """Start the process; it imports in the background.

        Raises:
            RunnerFailed: it could not be started.

        """
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.stdout = Capture(limits.log_bytes)
        self.stderr = Capture(limits.log_bytes)
        self.memory_bytes = limits.memory_bytes
        try:
            self._confined: Confined = sandbox.start(
                Launch(
                    argv=(sys.executable, "-I", "-m", "worker.runner", str(theirs.fileno())),
                    environment=environment,
                    memory_bytes=limits.memory_bytes,
                    stdout_fd=self.stdout.write_fd,
                    stderr_fd=self.stderr.write_fd,
                    socket_fd=theirs.fileno(),
                )
            )
        except OSError as error:
            self._socket.close()
            raise RunnerFailed(f"the runner could not be started: {error}") from error
        finally:
            theirs.close()
            self.stdout.close_write_end()
            self.stderr.close_write_end()

    @property
    def pid(self) -> int:
        """The process that is waited for."""
        return self._confined.pid

    def wait_ready(self, cancel_fd: int) -> None:
        """Wait until the imports are done.

        Raises:
            RunnerFailed: it ended, or said something else, or took too long.
            Interrupted: cancelled meanwhile.

        """
        end = self._receive(0, time.monotonic() + START_S, START_S, cancel_fd)
        if not (isinstance(end, Answered) and end.answer.status is Status.READY):
            self.destroy()
            raise RunnerFailed(f"the runner did not come up: {end}: {self.stderr.text()[-2000:]}")

    def ready(self) -> bool:
        """Whether an answer waits to be read, without reading it."""
        return bool(select.select([self._socket], [], [], 0)[0])

    def alive(self) -> bool:
        """Whether the process has not ended."""
        return self._confined.wait(0) is None

    def start_job(
        self, job: Job, arena_fd: int, source_fd: int, limit_s: float, cancel_fd: int
    ) -> End:
        """Hand over the job and wait for the import."""
        descriptors = array.array("i", [arena_fd, source_fd])
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)]
        try:
            self._socket.sendmsg([job.pack()], ancillary)
        except OSError as error:
            raise RunnerFailed(f"the spare runner was gone: {error}") from error
        return self._receive(0, time.monotonic() + limit_s, limit_s, cancel_fd)

    def call(self, offset: int, groups: int, limit_s: float, cancel_fd: int) -> End:
        """Run the candidate once on a slot."""
        token = secrets.randbits(63) | 1
        with suppress(OSError):  # a dead process is seen below, with its status
            self._socket.send(Call(token, offset, groups).pack())
        return self._receive(token, time.monotonic() + limit_s, limit_s, cancel_fd)

    def _receive(self, token: int, deadline_s: float, limit_s: float, cancel_fd: int) -> End:
        left_s = max(0.0, deadline_s - time.monotonic())
        watched: list[socket.socket | int] = [self._socket, cancel_fd]
        readable, _, _ = select.select(watched, [], [], left_s)
        if cancel_fd in readable:
            self.destroy()
            raise Interrupted
        if not readable:
            self.destroy()
            return Overran(limit_s)
        try:
            record = self._socket.recv(ANSWER_BYTES + 1)
        except ConnectionError:
            record = b""
        if not record:
            return self._died()
        try:
            answer = Answer.unpack(record)
        except ProtocolError as error:
            self.destroy()
            return Broke(str(error))
        if answer.token != token:
            self.destroy()
            return Broke("an answer to no call")
        return Answered(answer)

    def _died(self) -> Died | Broke:
        status = self._confined.wait(EXIT_S)
        out_of_memory = self._confined.out_of_memory()
        self.destroy()
        if status is None:
            return Broke("the runner closed its socket and stayed")
        return Died(status, out_of_memory)

    def destroy(self) -> None:
        """Kill all of it. Safe to repeat, from any thread."""
        self._confined.destroy()

    def close(self) -> None:
        """Destroy it, read the rest of its output, and give its socket back."""
        self.destroy()
        self.stdout.finish(DRAIN_S)
        self.stderr.finish(DRAIN_S)
        self._socket.close()


def source_memfd(source: bytes) -> int:
    """Put the source behind a read-only descriptor without touching a disk."""
    fd = os.memfd_create("source", os.MFD_CLOEXEC)
    os.write(fd, source)
    read_only = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)
    os.close(fd)
    return read_only
