"""Levels 2 and 1 with bubblewrap.

Level 2: namespaces, no capabilities, a filter of system calls, a uid of its own for each candidate,
and a control group. Level 1: the same, with our own uid where we are not root, and with a watchdog
for memory where we may not make control groups. As root the uid is always another one: mapped to
root's, a candidate would read root's files and know no limit of processes.
"""

import os
import select
import signal
import sys
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from worker.sandbox import bubblewrap, step_down
from worker.sandbox.bubblewrap import Bubblewrap, Started, find_bubblewrap
from worker.sandbox.cgroup import ControlGroups, cores_by_default
from worker.sandbox.cgroup_root import find_control_groups
from worker.sandbox.confinement import Confined, Launch, SandboxSettings
from worker.sandbox.handle import Handle
from worker.sandbox.slots import Slot, Slots, open_slots
from worker.sandbox.visible import find_visible, is_hidden
from worker.sandbox.watchdog import Watchdog, tree

END_S: Final = 10
"""A killed process that needs longer is stuck in a driver."""
SIGNAL_BASE: Final = 128


class MemoryGuard(Protocol):
    """Whatever ends a candidate that takes too much memory."""

    def out_of_memory(self) -> bool:
        """Whether it did."""

    def remove(self) -> None:
        """Let go. Never raises."""


class NamespaceProcess(Handle):
    """bubblewrap, which ends as its command does, and all that lives in its namespaces."""

    def __init__(self, started: Started, guard: MemoryGuard, slot: Slot | None) -> None:
        """Own all three."""
        super().__init__(started.process)
        self._init_pidfd = started.init_pidfd
        self._guard = guard
        self._slot = slot
        self._was_out_of_memory = False

    def wait(self, timeout_s: float) -> int | None:
        """Return the exit status, None while it lives."""
        status = super().wait(timeout_s)
        if status is None:
            return None
        signal_number = status - SIGNAL_BASE
        return -signal_number if 0 < signal_number < signal.NSIG else status

    def out_of_memory(self) -> bool:
        """Whether the memory limit was hit."""
        with self._lock:
            return self._was_out_of_memory if self._destroyed else self._guard.out_of_memory()

    def _end(self) -> None:
        """Kill process 1 of the namespaces: the kernel then ends all others in them."""
        with suppress(OSError):
            signal.pidfd_send_signal(self._init_pidfd, signal.SIGKILL)
        ended = bool(select.select([self._init_pidfd], [], [], END_S)[0])
        self._process.kill()
        self._process.wait()
        with suppress(OSError):  # ours to bury if bubblewrap ended before it
            os.waitid(os.P_PIDFD, self._init_pidfd, os.WEXITED | os.WNOHANG)
        self._was_out_of_memory = self._guard.out_of_memory()
        self._guard.remove()
        os.close(self._init_pidfd)
        if self._slot is not None and ended:  # a uid whose processes live stays taken
            self._slot.release()


@dataclass(frozen=True, slots=True)
class Namespaces:
    """bubblewrap, with what else this machine allows."""

    description: str
    settings: SandboxSettings
    program: Path
    args: tuple[str, ...]
    staged: tuple[Path, ...]
    slots: Slots | None
    groups: ControlGroups | None
    open_to: frozenset[str] = frozenset()
    """Hostile actions that are known to succeed."""

    @property
    def level(self) -> int:
        """2 with a uid of its own and a control group."""
        return 1 if self.slots is None or self.groups is None else 2

    @property
    def limits_cpu(self) -> bool:
        """Whether candidates have a quota of CPU time."""
        return self.groups is not None and self.groups.cpu is not None

    def start(self, launch: Launch) -> Confined:
        """Start a process. It dies with the thread that called this.

        Raises:
            OSError: it could not be started.

        """
        with ExitStack() as undo:
            slot = None if self.slots is None else self.slots.take()
            if slot is not None:
                undo.callback(slot.release)
            guard: MemoryGuard
            if slot is None or self.groups is None:
                started = self._start(launch, slot, [])
                guard = _watchdog(started, launch.memory_bytes)
            else:
                name = group_name(slot.uid)
                cores = launch.cores or self.settings.cores or cores_by_default()
                processes = self.settings.processes
                guard = self.groups.make(name, launch.memory_bytes, processes, cores)
                undo.callback(guard.remove)
                started = self._start(launch, slot, guard.entrances)
            undo.pop_all()
        return NamespaceProcess(started, guard, slot)

    def _start(self, launch: Launch, slot: Slot | None, entrances: list[Path]) -> Started:
        uid = os.geteuid() if slot is None else slot.uid
        limits = bubblewrap.limits(self.settings)
        command = [str(self.program)]
        if slot is not None:
            plan = (
                *(f"enter={file}" for file in entrances),
                *(f"limit={limit}:{bound}" for limit, bound in limits.items()),
                f"uid={uid}",
                f"stage={self.settings.state}",
                *(f"staged={folder}" for folder in self.staged),
            )
            command = [sys.executable, "-I", "-S", step_down.__file__, *plan, "--", *command]
            limits = {}
        return bubblewrap.start(command, self.args, launch, uid, limits)


def group_name(uid: int) -> str:
    """Return the name of the control group of a candidate."""
    return f"halfbyte-{uid}"


def _watchdog(started: Started, limit_bytes: int) -> Watchdog:
    def end() -> None:
        with suppress(OSError):
            signal.pidfd_send_signal(started.init_pidfd, signal.SIGKILL)

    return Watchdog(lambda: tree(started.init_pid), limit_bytes, end)


def build_level_2(settings: SandboxSettings) -> Namespaces:
    """Put level 2 together, without trying it.

    Raises:
        SandboxUnavailable: a part of it is not to be had.

    """
    slots = open_slots(settings.state, settings.candidate_uids)
    groups = find_control_groups(settings.cgroup)
    found = find_bubblewrap()
    counted = "" if groups.cpu is not None else " without a CPU quota"
    made_of = f"bubblewrap {found.version}, a uid each, seccomp, cgroup v{groups.version}{counted}"
    return _build(settings, found, made_of, slots, groups)


def build_level_1(settings: SandboxSettings) -> Namespaces:
    """Put level 1 together, without trying it. As root, candidates have uids of their own here too.

    Raises:
        SandboxUnavailable: a part of it is not to be had.

    """
    found = find_bubblewrap()
    made_of = f"bubblewrap {found.version}, seccomp, memory watched"
    if os.geteuid() != 0:
        return _build(settings, found, made_of, None, None)
    slots = open_slots(settings.state, settings.candidate_uids)
    return _build(settings, found, f"{made_of}, a uid each", slots, None)


def _build(
    settings: SandboxSettings,
    found: Bubblewrap,
    made_of: str,
    slots: Slots | None,
    groups: ControlGroups | None,
) -> Namespaces:
    visible = find_visible(settings.gpu_minors, settings.shown)
    staged = tuple(folder for folder in visible.folders if slots is not None and is_hidden(folder))
    moved = {folder: settings.state / str(number) for number, folder in enumerate(staged)}
    program = found.program
    for folder, place in moved.items():
        if program.is_relative_to(folder):
            program = place / program.relative_to(folder)
    return Namespaces(
        description=made_of,
        settings=settings,
        program=program,
        args=bubblewrap.arguments(visible, settings, moved),
        staged=staged,
        slots=slots,
        groups=groups,
    )
