"""Control groups: memory, processes and CPU time of one candidate, counted by the kernel.

Version 2 where it has the controllers, else version 1 (some hosts mount both, and version 1 holds
them). Ours are made as near to the group that we run in as the kernel allows. Where `cpu` alone is
not handed down, as to users of systemd, CPU time is not limited.
"""

import errno
import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from worker.sandbox.confinement import SandboxUnavailable

CONTROLLERS: Final = ("memory", "pids")
CPU: Final = "cpu"
PERIOD_US: Final = 100_000
"""The kernel's own: what is left of a quota comes back this often."""
OURSELVES: Final = "halfbyte-worker"
"""Where our own processes go: in version 2 only a group without processes limits its children."""
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


def find_control_groups(chosen: Path | None = None) -> ControlGroups:
    """Find where we may make groups that limit memory and processes.

    Raises:
        SandboxUnavailable: nowhere.

    """
    if chosen is not None:
        if not _is_usable(chosen):
            raise SandboxUnavailable(
                f"control group {chosen} does not hand down memory and pids, or is read-only"
            )
        return _groups_in(chosen)
    mounts = list(_mounts())
    own = _own_groups()
    for kind, point, _ in mounts:
        if kind == "cgroup2" and set(CONTROLLERS) <= set(_words(point / "cgroup.controllers")):
            return _groups_in(_parent_v2(point, own.get("", "/")))
    folders = {
        controller: folder
        for controller in (*CONTROLLERS, CPU)
        for kind, point, options in mounts
        if kind == "cgroup" and controller in options
        if os.access(folder := _inside(point, own.get(controller, "/")), os.W_OK)
    }
    if set(CONTROLLERS) <= set(folders):
        return ControlGroups(folders["memory"], folders["pids"], folders.get(CPU), 1)
    raise SandboxUnavailable(
        "no control groups for memory and pids: none mounted, or read-only (in Docker: "
        "--security-opt writable-cgroups=true, or mount /sys/fs/cgroup writable)"
    )


def _parent_v2(root: Path, own: str) -> Path:
    """Return the nearest group, from ours upwards, that hands down both controllers."""
    ours = _inside(root, own)
    above = [folder for folder in (ours, *ours.parents) if folder.is_relative_to(root)]
    for folder in above:
        if _is_usable(folder):
            return folder
    if os.access(ours, os.W_OK):
        _step_aside(ours)
        if _is_usable(ours):
            return ours
    raise SandboxUnavailable(
        f"control group {ours} does not hand down memory and pids, or is read-only (systemd: "
        "Delegate=yes; Docker: --security-opt writable-cgroups=true)"
    )


def _groups_in(folder: Path) -> ControlGroups:
    """Return a usable group of version 2, with CPU time where it hands that down or may."""
    control = folder / "cgroup.subtree_control"
    with suppress(OSError):
        if CPU not in _words(control):
            control.write_text(f"+{CPU}")
    return ControlGroups(folder, folder, folder if CPU in _words(control) else None, 2)


def _is_usable(folder: Path) -> bool:
    """Whether children of the folder can be made and have both controllers, which are turned on."""
    if not os.access(folder, os.W_OK):
        return False
    control = folder / "cgroup.subtree_control"
    with suppress(OSError):  # EBUSY: it has processes
        if not set(CONTROLLERS) <= set(_words(control)):
            control.write_text(" ".join(f"+{name}" for name in CONTROLLERS))
    return set(CONTROLLERS) <= set(_words(control))


def _step_aside(folder: Path) -> None:
    """Move the processes of a group that is ours, as in a container, into a child of it."""
    with suppress(OSError):
        aside = folder / OURSELVES
        aside.mkdir(exist_ok=True)
        for pid in _words(folder / "cgroup.procs"):
            with suppress(OSError):
                (aside / "cgroup.procs").write_text(pid)


def _removed(folder: Path) -> bool:
    """Remove a group. The kernel may still count a process that has just been waited for."""
    try:
        folder.rmdir()
    except OSError as error:
        return error.errno != errno.EBUSY
    return True


def _inside(point: Path, group: str) -> Path:
    """Return a group's folder; the mount itself where a container does not see the whole path."""
    folder = point / group.lstrip("/")
    return folder if folder.is_dir() else point


def _mounts() -> Iterator[tuple[str, Path, Sequence[str]]]:
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, point, kind, options, *_ = line.split(" ")
        if kind in ("cgroup", "cgroup2"):
            yield kind, Path(point), options.split(",")


def _own_groups() -> dict[str, str]:
    """Return our group in each hierarchy, by controller; version 2 is the empty name."""
    found = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, group = line.split(":", 2)
        found.update(dict.fromkeys(controllers.split(","), group))
    return found


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []
