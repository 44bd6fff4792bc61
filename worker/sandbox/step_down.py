"""From root to a candidate's uid, and then bubblewrap: `python -I -S step_down.py PLAN COMMAND...`.

Runs as a program, before anything of a candidate does. PLAN is JSON: the files to write 0 into to
enter the control groups, resource limits, the uid, and what to stage. Staged are folders below one
that only root may enter, as a Python in root's home is: bubblewrap runs as the candidate's uid and
could not reach them. They are bound elsewhere, in a mount namespace that ends with the candidate.
"""

import ctypes
import json
import os
import resource
import sys
from pathlib import Path
from typing import Final, TypedDict

CLONE_NEWNS: Final = 0x00020000
MS_NOSUID: Final = 0x2
MS_NODEV: Final = 0x4
MS_BIND: Final = 0x1000
MS_REC: Final = 0x4000
MS_PRIVATE: Final = 0x40000
OOM_FIRST: Final = "1000"
"""Where the whole host runs out of memory, candidates go before anybody else."""


class Plan(TypedDict):
    """What to do on the way down."""

    entrances: list[str]
    limits: dict[str, int]
    uid: int
    stage: str
    staged: list[str]


def main() -> None:
    """Enter the control groups, stage, change to the uid, and become the command."""
    plan: Plan = json.loads(sys.argv[1])
    command = sys.argv[2:]
    for entrance in plan["entrances"]:
        Path(entrance).write_text("0")
    for limit, bound in plan["limits"].items():
        lower(int(limit), bound)
    Path("/proc/self/oom_score_adj").write_text(OOM_FIRST)
    if plan["staged"]:
        _stage(Path(plan["stage"]), plan["staged"])
    uid = plan["uid"]
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    os.umask(0o022)
    os.execve(command[0], command, {})  # noqa: S606  (no shell is the point)


def lower(limit: int, bound: int, pid: int = 0) -> None:
    """Set a resource limit of a process, 0 for our own, unless it is lower already."""
    _, hard = resource.prlimit(pid, limit)
    if hard == resource.RLIM_INFINITY or hard > bound:
        resource.prlimit(pid, limit, (bound, bound))


def _stage(stage: Path, sources: list[str]) -> None:
    """Bind each source at its number below the stage, out of everybody else's sight."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS):
        reason = "without CAP_SYS_ADMIN, Python must lie where everybody may enter"
        raise OSError(ctypes.get_errno(), reason, sources[0])
    _mount(libc, "none", Path("/"), None, MS_REC | MS_PRIVATE)
    _mount(libc, "stage", stage, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=64k")
    for number, source in enumerate(sources):
        target = stage / str(number)
        target.mkdir() if Path(source).is_dir() else target.touch()
        _mount(libc, source, target, None, MS_BIND | MS_REC)


def _mount(
    libc: ctypes.CDLL, source: str, target: Path, kind: str | None, flags: int, options: str = ""
) -> None:
    result = libc.mount(
        os.fsencode(source),
        os.fsencode(target),
        None if kind is None else kind.encode(),
        ctypes.c_ulong(flags),
        options.encode(),
    )
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(target))


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"{error.strerror} ({error.filename or sys.argv[2]})")
