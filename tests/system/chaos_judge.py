"""Stands in for `worker.judge_main` where hundreds of jobs have to pass through two cores.

Real: the messages, the sandbox with its uid and control group a job, the start of a process in it
and its end, cancel, and how all of it dies with the worker. Not real: nothing is imported, computed
or compared. A job is a process with a child, which sleeps as long as the first line of the file
says (`# lasts 0.25 s`), and it passes; behind one that `breaks` the device the judge ends. The
sandbox is built as a worker builds it, and not tried.
"""

import os
import queue
import secrets
import socket
import sys
import threading
from collections.abc import Iterator

from contract.job import Progress
from contract.verdict import Environment, Passed
from worker.judge_start import hung_up
from worker.messages import (
    TO_JUDGE,
    Begin,
    Cancel,
    Configure,
    FromJudge,
    Judged,
    Progressed,
    Ready,
    Stopped,
    Unhealthy,
    line,
)
from worker.process_tree import adopt_orphans, be_opaque, die_with_parent, kill_strays
from worker.sandbox.confinement import Confined, Launch, Sandbox, SandboxUnavailable
from worker.sandbox.namespaces import build_level_1, build_level_2
from worker.settings import WorkerSettings

JOB = "sleep 1000 & exec sleep {:g}"
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


class StandIn:
    """One job at a time, as the real judge."""

    def __init__(self, settings: WorkerSettings, out: socket.socket) -> None:
        self._out = out
        self._sandbox = build(settings)
        self._waiting: queue.SimpleQueue[tuple[Begin, threading.Event]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._cancelled: threading.Event | None = None
        self._running: Confined | None = None
        self._environment = Environment(
            host=socket.gethostname(),
            device="cpu",
            python="3.11",
            torch="none",
            triton="none",
            halfbyte="0",
            sandbox=self._sandbox.description,
        )

    def serve(self, messages: Iterator[bytes]) -> None:
        threading.Thread(target=self._listen, args=(messages,), daemon=True).start()
        self._send(
            Ready(
                environment=self._environment,
                serves=("cpu", "any"),
                sandbox_level=self._sandbox.level,
            )
        )
        while True:
            begin, cancelled = self._waiting.get()
            end = self._judged(begin, cancelled)
            broken = b"breaks" in begin.source
            if broken:
                self._send(Unhealthy(message="the device multiplies wrongly"))
            with self._lock:
                self._cancelled = None
            self._send(end)
            if broken:
                return

    def _listen(self, messages: Iterator[bytes]) -> None:
        for text in messages:
            match TO_JUDGE.validate_json(text):
                case Begin() as begin:
                    with self._lock:
                        self._cancelled = threading.Event()
                    self._waiting.put((begin, self._cancelled))
                case Cancel():
                    with self._lock:
                        if self._cancelled is not None:
                            self._cancelled.set()
                            if self._running is not None:
                                self._running.destroy()
        os._exit(0)

    def _judged(self, begin: Begin, cancelled: threading.Event) -> FromJudge:
        self._send(Progressed(progress=Progress(stage="testing", case=0, cases=1)))
        lasts_s = float(begin.source.split()[2])
        ours, theirs = socket.socketpair()
        null = os.open(os.devnull, os.O_WRONLY)
        with ours, theirs:
            confined = self._sandbox.start(
                Launch(
                    argv=("/bin/sh", "-c", JOB.format(lasts_s)),
                    environment=ENVIRONMENT,
                    memory_bytes=begin.submission.limits.memory_bytes,
                    stdout_fd=null,
                    stderr_fd=null,
                    socket_fd=theirs.fileno(),
                )
            )
        os.close(null)
        with self._lock:
            self._running = confined
        if not cancelled.is_set():
            confined.wait(begin.submission.limits.job_s)
        confined.destroy()
        with self._lock:
            self._running = None
        kill_strays(())
        if cancelled.is_set():
            return Stopped()
        return Judged(verdict=self._verdict())

    def _verdict(self) -> Passed:
        return Passed(
            summary=f"stand-in {os.getpid()} {secrets.token_hex(8)}",  # no two are the same
            environment=self._environment,
            sandbox_level=self._sandbox.level,
            emulated=True,
        )

    def _send(self, message: FromJudge) -> None:
        self._out.sendall(line(message))


def build(settings: WorkerSettings) -> Sandbox:
    try:
        return build_level_2(settings.sandbox)
    except SandboxUnavailable:
        return build_level_1(settings.sandbox)


def main() -> None:
    die_with_parent()
    be_opaque()
    adopt_orphans()
    worker = socket.socket(fileno=int(sys.argv[1]))
    worker.set_inheritable(False)
    if hung_up(worker):
        return
    messages = iter(worker.makefile("rb"))
    first = TO_JUDGE.validate_json(next(messages))
    assert isinstance(first, Configure)
    StandIn(first.settings, worker).serve(messages)


if __name__ == "__main__":
    main()
