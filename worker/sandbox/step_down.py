"""From root to a candidate's uid, then the command: `python -I -S step_down.py PLAN COMMAND...`.

Runs as a program, before anything of a candidate does; PLAN is JSON. The command is bubblewrap, or,
where namespaces are not allowed, the candidate itself behind a Landlock ruleset and the filter.

Staged are folders below one that only root may enter, as a Python in root's home is: bubblewrap
runs as the candidate's uid and could not reach them. They are bound elsewhere, in a mount namespace
that ends with the candidate.
"""

import ctypes
import json
import os
import resource
import signal
import stat
import struct
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

PR_SET_PDEATHSIG: Final = 1
PR_SET_SECCOMP: Final = 22
PR_SET_NO_NEW_PRIVS: Final = 38
SECCOMP_MODE_FILTER: Final = 2
INSTRUCTION_BYTES: Final = 8

LANDLOCK_CREATE_RULESET: Final = 444
LANDLOCK_ADD_RULE: Final = 445
LANDLOCK_RESTRICT_SELF: Final = 446
LANDLOCK_VERSION: Final = 1
RULE_PATH_BENEATH: Final = 1

EXECUTE: Final = 1 << 0
WRITE_FILE: Final = 1 << 1
READ_FILE: Final = 1 << 2
READ_DIR: Final = 1 << 3
MAKE_CHAR: Final = 1 << 6
MAKE_BLOCK: Final = 1 << 11
TRUNCATE: Final = 1 << 14
IOCTL_DEV: Final = 1 << 15
READ: Final = EXECUTE | READ_FILE | READ_DIR
CHANGE: Final = READ | WRITE_FILE | TRUNCATE | IOCTL_DEV
OF_A_FILE: Final = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
FILE_RIGHTS_BY_VERSION: Final = (13, 14, 15, 15, 16)
"""How many rights each version knows; later ones know as many as the last."""
NETWORK_FROM: Final = 4
SCOPE_FROM: Final = 6
BIND_AND_CONNECT: Final = 0b11
ABSTRACT_SOCKETS_AND_SIGNALS: Final = 0b11


class Walls(TypedDict):
    """What stands in for namespaces: a Landlock ruleset by paths, and the filter in hexadecimal."""

    listed: list[str]
    readable: list[str]
    changeable: list[str]
    own: str
    filter: str
    environment: dict[str, str]


class Plan(TypedDict):
    """What to do on the way down."""

    entrances: list[str]
    limits: dict[str, int]
    uid: int
    stage: str
    staged: list[str]
    walls: Walls | None


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
    walls = plan["walls"]
    if walls is not None:
        _wall_in(walls)
    os.execve(command[0], command, {} if walls is None else walls["environment"])  # noqa: S606


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


def _wall_in(walls: Walls) -> None:
    """Restrict this process, and all that come from it, for good."""
    os.chdir(walls["own"])
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    _restrict_files(walls)
    program = bytes.fromhex(walls["filter"])
    instructions = ctypes.create_string_buffer(program, len(program))
    address = ctypes.addressof(instructions)
    fprog = struct.pack("HxxxxxxP", len(program) // INSTRUCTION_BYTES, address)
    _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, fprog)


def _restrict_files(walls: Walls) -> None:
    """Allow some paths; forbid all others, TCP, foreign abstract sockets and foreign signals."""
    version = landlock_version()
    known = (1 << FILE_RIGHTS_BY_VERSION[min(version, len(FILE_RIGHTS_BY_VERSION)) - 1]) - 1
    attributes = struct.pack("Q", known)
    if version >= NETWORK_FROM:
        attributes += struct.pack("Q", BIND_AND_CONNECT)
    if version >= SCOPE_FROM:
        attributes += struct.pack("Q", ABSTRACT_SOCKETS_AND_SIGNALS)
    ruleset = _syscall(LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0)
    for paths, rights in (
        (walls["listed"], READ_DIR),
        (walls["readable"], READ),
        (walls["changeable"], CHANGE),
        ([walls["own"]], known & ~MAKE_CHAR & ~MAKE_BLOCK),
    ):
        for path in paths:
            parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
            mask = known if stat.S_ISDIR(os.fstat(parent).st_mode) else known & OF_A_FILE
            rule = struct.pack("=Qi", rights & mask, parent)
            _syscall(LANDLOCK_ADD_RULE, ruleset, RULE_PATH_BENEATH, rule, 0)
            os.close(parent)
    _syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def landlock_version() -> int:
    """Return what version of Landlock the kernel has.

    Raises:
        OSError: none.

    """
    return _syscall(LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_VERSION)


def _syscall(number: int, *arguments: int | bytes | None) -> int:
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    result = int(ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *words))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "landlock")
    return result


def _prctl(option: int, *arguments: int | bytes) -> None:
    words = [ctypes.c_ulong(word) if isinstance(word, int) else word for word in arguments]
    words += [ctypes.c_ulong(0)] * (4 - len(words))
    if ctypes.CDLL(None, use_errno=True).prctl(option, *words):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), f"prctl {option}")


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"{error.strerror} ({error.filename or sys.argv[2]})")
