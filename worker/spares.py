"""Warm runners that have imported torch and triton, so that no job waits for imports."""

import logging
import select
import time
from collections import deque
from collections.abc import Mapping
from typing import Final

from contract.limits import Limits
from worker.device import COMPILER_ENVIRONMENT
from worker.runner_process import START_S, RunnerFailed, RunnerProcess
from worker.sandbox.confinement import Sandbox

SETTLE_S: Final = 0.02
"""Between two looks at whether spares are ready."""

log = logging.getLogger("halfbyte.judge")


class Spares:
    """A fixed number of warm runners of one sandbox and one limit of memory."""

    def __init__(
        self, sandbox: Sandbox, environment: Mapping[str, str], limits: Limits, count: int
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
            self._warm.append(self.start(self._limits))

    def take(self, limits: Limits, cancel_fd: int) -> RunnerProcess:
        """Return a ready runner: a warm one, or the one that is nearest to it.

        Raises:
            RunnerFailed: none came up.
            Interrupted: cancelled meanwhile.

        """
        fitting = limits.memory_bytes == self._limits.memory_bytes
        while fitting and self._warm:
            self._warm.rotate(-self._first_ready())
            spare = self._warm.popleft()
            try:
                spare.wait_ready(cancel_fd)
            except RunnerFailed as error:
                log.warning("a spare is lost: %s", error)  # nobody's file has run in it
                spare.close()
            else:
                return spare
        runner = self.start(limits)
        runner.wait_ready(cancel_fd)
        return runner

    def start(self, limits: Limits) -> RunnerProcess:
        """Start a runner that is no spare.

        Raises:
            RunnerFailed: it could not be started.

        """
        return RunnerProcess(self._sandbox, self._environment, limits)

    def start_compiler(self, limits: Limits) -> RunnerProcess:
        """Start a process that compiles, in the same sandbox. There are no warm ones.

        Raises:
            RunnerFailed: it could not be started.

        """
        return RunnerProcess(self._sandbox, COMPILER_ENVIRONMENT, limits, "worker.compiler")

    def start_profiler(self, limits: Limits) -> RunnerProcess:
        """Start a process that has a file profiled, in the same sandbox. There are no warm ones.

        Raises:
            RunnerFailed: it could not be started.

        """
        return RunnerProcess(self._sandbox, self._environment, limits, "worker.profiler")

    def _bury(self) -> None:
        for runner in [runner for runner in self._warm if not runner.alive()]:
            self._warm.remove(runner)
            runner.close()

    def _first_ready(self) -> int:
        return next((i for i, runner in enumerate(self._warm) if runner.ready()), 0)

    def settle(self, cancel_fd: int) -> None:
        """Wait until the imports of all are done: they would disturb what is timed."""
        deadline_s = time.monotonic() + START_S
        while time.monotonic() < deadline_s and any(
            runner.alive() and not runner.ready() for runner in self._warm
        ):
            if select.select([cancel_fd], [], [], SETTLE_S)[0]:
                return

    def warm(self) -> bool:
        """Whether a spare waits with its imports done."""
        return any(runner.ready() for runner in self._warm)

    def pids(self) -> set[int]:
        """Return the processes that are ours to keep."""
        return {runner.pid for runner in self._warm}

    def close(self) -> None:
        """End all of them."""
        while self._warm:
            self._warm.popleft().close()
