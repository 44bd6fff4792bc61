"""A job that is being judged: its processes, and the word to stop."""

import os
import threading
from collections.abc import Collection

from worker.messages import Begin
from worker.process_tree import kill_strays
from worker.runner_process import Interrupted, RunnerProcess


class RunningJob:
    """A job from the moment it was read: a cancel finds it even before its runner."""

    def __init__(self, begin: Begin) -> None:
        """Have no process yet."""
        self.begin = begin
        self.cancel_fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        """Readable once a cancel came."""
        self._lock = threading.Lock()
        self._runners: list[RunnerProcess] = []

    def add(self, runner: RunnerProcess) -> None:
        """Let a cancel find a runner."""
        with self._lock:
            self._runners.append(runner)

    def cancel(self) -> None:
        """Stop it at once, from another thread, whatever it computes."""
        with self._lock:
            os.eventfd_write(self.cancel_fd, 1)
            for runner in self._runners:
                runner.destroy()

    def check(self) -> None:
        """Let it go on unless a cancel came, also one that ended a runner while we computed.

        Raises:
            Interrupted: a cancel came.

        """
        try:
            os.eventfd_read(self.cancel_fd)
        except BlockingIOError:
            return
        raise Interrupted

    def bury(self, keep: Collection[int]) -> None:
        """End its runners and what they left, all but the processes `keep`.

        A stray would hold the output pipes of a runner open.
        """
        with self._lock:
            runners, self._runners = self._runners, []
        for runner in runners:
            runner.destroy()
        kill_strays(keep)
        for runner in runners:
            runner.close()

    def close(self) -> None:
        """Give the word's descriptor back. No cancel may come any more."""
        os.close(self.cancel_fd)
