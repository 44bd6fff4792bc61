"""Warm runners that have imported torch and triton, so that no job waits for imports."""

from collections import deque

from contract.submission import Limits
from worker.runner_process import RunnerProcess
from worker.sandbox.confinement import Sandbox


class Spares:
    """A fixed number of warm runners of one sandbox and one limit of memory."""

    def __init__(
        self, sandbox: Sandbox, environment: dict[str, str], limits: Limits, count: int
    ) -> None:
        """Start nothing yet: `fill` does."""
        self._sandbox = sandbox
        self._environment = environment
        self._limits = limits
        self._count = count
        self._warm: deque[RunnerProcess] = deque()

    def fill(self) -> None:
        """Start as many as are missing. They import in the background.

        Raises:
            RunnerFailed: a process could not be started.

        """
        self._bury()
        while len(self._warm) < self._count:
            self._warm.append(self._start(self._limits))

    def take(self, limits: Limits, cancel_fd: int) -> RunnerProcess:
        """Return a ready runner: a warm one, or the one that is nearest to it.

        Raises:
            RunnerFailed: none came up.
            Interrupted: cancelled meanwhile.

        """
        if limits.memory_bytes != self._limits.memory_bytes:
            runner = self._start(limits)
        else:
            self._bury()
            self._warm.rotate(-self._first_ready())
            runner = self._warm.popleft() if self._warm else self._start(limits)
        runner.wait_ready(cancel_fd)
        return runner

    def _start(self, limits: Limits) -> RunnerProcess:
        return RunnerProcess(self._sandbox, self._environment, limits)

    def _bury(self) -> None:
        for runner in [runner for runner in self._warm if not runner.alive()]:
            self._warm.remove(runner)
            runner.close()

    def _first_ready(self) -> int:
        return next((i for i, runner in enumerate(self._warm) if runner.ready()), 0)

    def pids(self) -> set[int]:
        """Return the processes that are ours to keep."""
        return {runner.pid for runner in self._warm}

    def close(self) -> None:
        """End all of them."""
        while self._warm:
            self._warm.popleft().close()
