"""Keeps children alive: starts them in stages, restarts the dead, stops the stages in reverse."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from client import child
from client.errors import ClientError
from client.signals import HeldSignals

FIRST_DELAY_S = 0.5
LAST_DELAY_S = 30.0
STEADY_S = 60.0
"""A child that ran this long before it ended is restarted with the first delay again."""
TAIL_LINES = 15
TAIL_BYTES = 16_384
AGAIN_S = 1.0
"""Within this time a second signal is the first one: `timeout` and `make` send it on to us."""
KILLED_S = 5.0
"""How long a process may take to vanish after SIGKILL before we stop waiting for it."""


@dataclass(frozen=True, slots=True)
class Spec:
    """What to start, and how long it has between SIGTERM and SIGKILL.

    One that may end is not started again after exit code 0: somebody asked it to.
    """

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    grace_s: float
    may_end: bool = False


class StartFailed(ClientError):
    """A child ended before it was ready, or was not ready in time; carries the tail of its log."""

    def __init__(self, name: str, reason: str, log: Path) -> None:
        """Quote the last lines of `log`."""
        super().__init__(f"{name} did not start: it {reason}")
        for line in (f"the end of {log}:", *tail(log)):
            self.add_note(line)


class Child:
    """One process after another for the same spec."""

    def __init__(self, spec: Spec, log: Path) -> None:
        """Start the first process, with an empty log."""
        self.spec = spec
        self.log = log
        self._delay_s = FIRST_DELAY_S
        log.write_bytes(b"")
        self._start()

    def _start(self) -> None:
        self.due: float | None = None
        self._left_alone = False
        self._process = child.start(self.spec.argv, self.spec.env, self.log)
        self._started = time.monotonic()

    @property
    def pid(self) -> int:
        """The process that runs, or the last one."""
        return self._process.pid

    def ended(self) -> str | None:
        """Say how the process ended; None while it runs."""
        code = self._process.poll()
        return None if code is None else _how(code)

    def tend(self) -> str | None:
        """Restart an ended process once its delay is over; return what there is to say of it."""
        how = self.ended()
        if how is None or self._left_alone:
            return None
        now = time.monotonic()
        if self.due is None:
            self._kill_group()
            if self.spec.may_end and self._process.returncode == 0:
                self._left_alone = True
                return f"{self.spec.name} ended as it was asked to"
            if now - self._started >= STEADY_S:
                self._delay_s = FIRST_DELAY_S
            self.due, delay_s = now + self._delay_s, self._delay_s
            self._delay_s = min(2 * self._delay_s, LAST_DELAY_S)
            return f"{self.spec.name} {how}; starting it again in {delay_s:g} s (log: {self.log})"
        if now < self.due:
            return None
        self._start()
        return f"{self.spec.name} started again"

    def terminate(self) -> None:
        """Ask the process to end."""
        if self._process.poll() is None:
            self._process.terminate()

    def kill(self) -> None:
        """End the process and its group, and wait until it is gone."""
        self._kill_group()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(KILLED_S)

    def _kill_group(self) -> None:
        # The child leads its group; what it left behind there must not outlive it.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


class Supervisor:
    """The children of one `halfbyte up`, in the order in which they were started."""

    def __init__(self, logs: Path) -> None:
        """Write the log of a child to `logs/NAME.log`."""
        self._logs = logs
        self._stages: list[list[Child]] = []

    @property
    def children(self) -> list[Child]:
        """All children, in the order of their start."""
        return [each for stage in self._stages for each in stage]

    def start(self, *specs: Spec) -> list[Child]:
        """Start one stage."""
        stage: list[Child] = []
        self._stages.append(stage)
        for spec in specs:
            stage.append(Child(spec, self._logs / f"{spec.name}.log"))
        return stage

    def tend(self) -> Iterator[str]:
        """Restart what ended, and say so."""
        for each in self.children:
            said = each.tend()
            if said:
                yield said

    def next_due_s(self) -> float:
        """Return the seconds until the next restart, at most a minute."""
        now = time.monotonic()
        return min((each.due - now for each in self.children if each.due is not None), default=60.0)

    def stop(self, signals: HeldSignals) -> Iterator[str]:
        """Stop all stages, the last first; asked to stop once more meanwhile, kill what is left.

        Yields what there is to say, and stops only as far as it is consumed.
        """
        hurried = False
        began = time.monotonic()
        while self._stages:
            stage = self._stages[-1]
            for each in stage:
                each.terminate()
            deadline = time.monotonic() + max((each.spec.grace_s for each in stage), default=0)
            while not hurried and any(each.ended() is None for each in stage):
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    break
                asked = signals.wait(left_s)
                hurried = asked and time.monotonic() - began > AGAIN_S
                if hurried:
                    yield "stopping at once"
            for each in stage:
                if not hurried and each.ended() is None:
                    yield f"{each.spec.name} did not end when asked; killing it"
                each.kill()
            self._stages.pop()


def _how(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    with suppress(ValueError):
        return f"was ended by {signal.Signals(-code).name}"
    return f"was ended by signal {-code}"


def tail(log: Path) -> list[str]:
    """Return the last lines of a log; none where there is no log."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return text.splitlines()[-TAIL_LINES:]
