"""Control groups: memory, processes and CPU time of one candidate, counted by the kernel."""

import errno
import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PERIOD_US: Final = 100_000
"""The kernel's own: what is left of a quota comes back this often."""
EMPTY_S: Final = 10
POLL_S: Final = 0.001


def cores_by_default() -> int:
    """Return how many cores a candidate may use at once: whole ones, so that none is ever halted.

    A launcher is one thread, and what its driver adds in threads of their own is far below a second
    core: two cores cannot run out for it. All but one, so that the judge's clock and the heartbeats
    of the worker never wait for a candidate.
    """
    return max(2, len(os.sched_getaffinity(0)) - 1)


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """The group of one candidate: one folder, or one a controller in version 1."""

    memory: Path
    pids: Path
    cpu: Path | None
    version: int

    @property
    def entrances(self) -> list[Path]:
        """The files into which a process writes 0 to enter."""
        return [folder / "cgroup.procs" for folder in self.folders]

    def limit(self, memory_bytes: int, processes: int, cores: int) -> None:
        """Set the limits.

        Raises:
            OSError: the kernel refuses one.

        """
        if self.cpu is not None:
            self._limit_cpu(self.cpu, cores * PERIOD_US)
        (self.pids / "pids.max").write_text(str(processes))
        if self.version == 2:
            (self.memory / "memory.max").write_text(str(memory_bytes))
            with suppress(FileNotFoundError):  # no swap accounting
                (self.memory / "memory.swap.max").write_text("0")
            (self.memory / "memory.oom.group").write_text("1")
            return
        (self.memory / "memory.limit_in_bytes").write_text(str(memory_bytes))
        with suppress(FileNotFoundError):
            (self.memory / "memory.memsw.limit_in_bytes").write_text(str(memory_bytes))

    def _limit_cpu(self, folder: Path, quota_us: int) -> None:
        if self.version == 2:
            (folder / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")
            return
        (folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        try:
            (folder / "cpu.cfs_quota_us").write_text(str(quota_us))
        except OSError as error:
            if error.errno != errno.EINVAL:  # a group above has less: that one limits ours as well
                raise

    def out_of_memory(self) -> bool:
        """Whether the kernel killed a process in here for its memory."""
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        with suppress(OSError):
            for line in (self.memory / name).read_text().splitlines():
                key, _, value = line.partition(" ")
                if key == "oom_kill":
                    return int(value) > 0
        return False

    def remove(self) -> None:
        """Kill what is left in here, wait until it is gone, and remove the group. Never raises."""
        deadline_s = time.monotonic() + EMPTY_S
        while (left := self._processes()) and time.monotonic() < deadline_s:
            with suppress(OSError):  # before Linux 5.14
                (self.memory / "cgroup.kill").write_text("1")
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(POLL_S)
        for folder in self.folders:
            while not _removed(folder) and time.monotonic() < deadline_s:
                time.sleep(POLL_S)

    def _processes(self) -> set[int]:
        found: set[int] = set()
        for entrance in self.entrances:
            with suppress(OSError):
                found.update(int(pid) for pid in entrance.read_text().split())
        return found - {0}  # 0: a process outside our pid namespace

    @property
    def folders(self) -> set[Path]:
        """Where it is: one folder, or one a controller."""
        return {folder for folder in (self.memory, self.pids, self.cpu) if folder is not None}


@dataclass(frozen=True, slots=True)
class ControlGroups:
    """The folders in which a group is made for each candidate."""

    memory: Path
    pids: Path
    cpu: Path | None
    """None where CPU time cannot be limited."""
    version: int

    def make(self, name: str, memory_bytes: int, processes: int, cores: int) -> ControlGroup:
        """Make a group with limits. What a dead worker left under this name is removed first.

        Raises:
            OSError: it cannot be made.

        """
        group = self.named(name)
        group.remove()
        for folder in group.folders:
            folder.mkdir()
        group.limit(memory_bytes, processes, cores)
        return group

    def named(self, name: str) -> ControlGroup:
        """Return the group of this name, whether or not it is there."""
        cpu = None if self.cpu is None else self.cpu / name
        return ControlGroup(self.memory / name, self.pids / name, cpu, self.version)


def _removed(folder: Path) -> bool:
    """Remove a group. The kernel may still count a process that has just been waited for."""
    try:
        folder.rmdir()
    except OSError as error:
        return error.errno != errno.EBUSY
    return True
