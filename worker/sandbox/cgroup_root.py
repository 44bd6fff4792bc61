"""Where control groups of ours can be made: as near to our own group as the kernel allows.

Version 2 where it has the controllers, else version 1 (some hosts mount both, and version 1 holds
them). Where `cpu` alone is not handed down, as to users of systemd, CPU time is not limited.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from worker.sandbox.cgroup import ControlGroups
from worker.sandbox.confinement import SandboxUnavailable

CONTROLLERS: Final = ("memory", "pids")
CPU: Final = "cpu"
OURSELVES: Final = "halfbyte-worker"
"""Where our own processes go: in version 2 only a group without processes limits its children."""


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
