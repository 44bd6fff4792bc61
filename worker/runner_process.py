"""The judge's handle on one runner: start it confined, hand it a job, call it, end it."""

import array
import json
import os
import secrets
import select
import socket
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from contract.limits import Limits
from worker.arena import Place
from worker.capture import Capture
from worker.control import ControlPage
from worker.ends import Answered, Broke, Died, End, Overran
from worker.protocol import ANSWER_BYTES, Answer, Call, Job, Order, ProtocolError, Status
from worker.sandbox.confinement import Confined, Launch, Sandbox

START_S: Final = 120
"""Longest wait for torch and triton to be imported, on a busy machine."""
DRAIN_S: Final = 2
SPINS: Final = 512
"""Looks at the control page between two at the socket."""
SPIN_S: Final = 0.05
"""From here on a call is so long that the clock need not be sharp."""
ANSWER_S: Final = 1.0
"""From the done word to the answer that follows it."""
EXIT_S: Final = 5
"""Between the end of the socket and the end of the process."""


class RunnerFailed(Exception):
    """A runner did not come up. Our fault: nobody's file was running yet."""


class Interrupted(Exception):
    """The job was cancelled."""


class RunnerProcess:
    """One runner, from spare to corpse."""

    def __init__(
        self,
        sandbox: Sandbox,
        environment: Mapping[str, str],
        limits: Limits,
        program: str = "worker.runner",
    ) -> None:
        """Start the process; it imports in the background. `program` is the module it runs.

        Raises:
            RunnerFailed: it could not be started.

        """
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.memory_bytes = limits.memory_bytes
        """On the host: its limit."""
        self.stdout = Capture(limits.log_bytes)
        self.stderr = Capture(limits.log_bytes)
        try:
            self._confined: Confined = sandbox.start(
                Launch(
                    argv=(sys.executable, "-I", "-u", "-m", program, str(theirs.fileno())),
                    environment=environment,
                    memory_bytes=self.memory_bytes,
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

    def out_of_memory(self) -> bool:
        """Whether it, or a process that it started, went over the limit of memory."""
        return self._confined.out_of_memory()

    def hand_over(self, job: Job | Order, descriptors: tuple[int, int, int]) -> None:
        """Hand over the job with the three descriptors that belong to it.

        Raises:
            RunnerFailed: it has ended.

        """
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        try:
            self._socket.sendmsg([job.pack()], ancillary)
        except OSError as error:
            raise RunnerFailed(f"the spare runner was gone: {error}") from error

    def start_order(
        self,
        order: Mapping[str, object],
        source: bytes,
        reports_fd: int,
        limit_s: float,
        cancel_fd: int,
    ) -> End:
        """Hand over what to compile or to profile, and where to report; wait for its answer."""
        written = json.dumps(order).encode()
        order_fd, source_fd = source_memfd(written), source_memfd(source)
        try:
            job = Order(len(written), len(source))
            self.hand_over(job, (reports_fd, order_fd, source_fd))
        finally:
            os.close(order_fd)
            os.close(source_fd)
        return self.answer(0, limit_s, cancel_fd)

    def let_import(self) -> None:
        """Let it import the file of its job. What it says of that is the answer to 0."""
        self._send(Call(0, 0, 0, 0))

    def prepare(self, place: Place, groups: int) -> int:
        """Announce a call and return its token. On a CPU the runner begins at once."""
        token = secrets.randbits(63) | 1
        self._send(Call(token, place.host_offset, place.device_offset, groups))
        return token

    def _send(self, call: Call) -> None:
        # A dead process is seen by its answer, with its status. One that leaves its records unread
        # would have us wait here without a limit, once 278 of them fill the socket.
        with suppress(OSError):
            self._socket.send(call.pack(), socket.MSG_DONTWAIT)

    def answer(self, token: int, limit_s: float, cancel_fd: int) -> End:
        """Wait for the answer to a call."""
        return self._receive(token, time.monotonic() + limit_s, limit_s, cancel_fd)

    def answer_or_overrun(self, token: int, limit_s: float, cancel_fd: int) -> End:
        """Return the answer that waits to be read; without one the limit has passed."""
        if self._news(cancel_fd, 0):
            return self.answer(token, ANSWER_S, cancel_fd)
        self.destroy()
        return Overran(limit_s)

    def wake(self, token: int, control: ControlPage, limit_s: float, cancel_fd: int) -> bool:
        """Have the runner touch the device; False where it ended or did not in time."""
        control.wake(token)
        return self._spin(control.awake, token, limit_s, cancel_fd) is not None

    def release(
        self, token: int, control: ControlPage, limit_s: float, cancel_fd: int
    ) -> int | None:
        """Release an announced call; return when it was done (perf_counter_ns).

        None where the runner ended, answered without being done, or did neither in time: `answer`
        tells which.
        """
        control.release(token)
        return self._spin(control.finished, token, limit_s, cancel_fd)

    def _spin(
        self, word: Callable[[], int], token: int, limit_s: float, cancel_fd: int
    ) -> int | None:
        """Return when a word became the token; None at the limit, or where the socket speaks."""
        started_ns = time.perf_counter_ns()
        looks = 0
        while word() != token:
            looks += 1
            if looks % SPINS == 0:
                waited_s = (time.perf_counter_ns() - started_ns) / 1e9
                if waited_s > limit_s or self._news(cancel_fd, 0):
                    return None
                if waited_s > SPIN_S:
                    time.sleep(SPIN_S / 100)
        return time.perf_counter_ns()

    def _receive(self, token: int, deadline_s: float, limit_s: float, cancel_fd: int) -> End:
        left_s = max(0.0, deadline_s - time.monotonic())
        readable = self._news(cancel_fd, left_s)
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

    def _news(self, cancel_fd: int, timeout_s: float) -> list[socket.socket | int]:
        watched: list[socket.socket | int] = [self._socket, cancel_fd]
        return select.select(watched, [], [], timeout_s)[0]

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
