"""From root to a candidate's uid, then a command: `step_down.py KEY=VALUE... -- COMMAND...`.

Runs as a program, before anything of a candidate does. The command is bubblewrap, or, where no
namespaces are allowed, the candidate itself behind a Landlock ruleset and the filter. It imports
little: each start of a runner waits for it, and `json`, `pathlib` and `typing` take longer than all
else that happens here.

    enter=FILE        write 0 there, which enters a control group
    limit=N:BOUND     a resource limit by its number
    uid=N             whom to become
    stage=FOLDER      where to bind the folders that follow, in a mount namespace of our own
    staged=FOLDER     one that lies below a folder that only root may enter, as a Python in root's
                      home does: bubblewrap runs as the candidate's uid and could not reach it
    listed=, readable=, changeable=, own=PATH       what Landlock allows
    filter=HEX        the filter of system calls
    set=NAME=VALUE    the environment of the command
"""

import os
import resource
import stat
import struct
import sys

CLONE_NEWNS = 0x00020000
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
OOM_FIRST = "1000"
"""Where the whole host runs out of memory, candidates go before anybody else."""

SIGKILL = 9
PR_SET_PDEATHSIG = 1
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_MODE_FILTER = 2
INSTRUCTION_BYTES = 8

LANDLOCK_CREATE_RULESET = 444
LANDLOCK_ADD_RULE = 445
LANDLOCK_RESTRICT_SELF = 446
LANDLOCK_VERSION = 1
RULE_PATH_BENEATH = 1

EXECUTE = 1 << 0
WRITE_FILE = 1 << 1
READ_FILE = 1 << 2
READ_DIR = 1 << 3
MAKE_CHAR = 1 << 6
MAKE_BLOCK = 1 << 11
TRUNCATE = 1 << 14
IOCTL_DEV = 1 << 15
READ = EXECUTE | READ_FILE | READ_DIR
CHANGE = READ | WRITE_FILE | TRUNCATE | IOCTL_DEV
OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
FILE_RIGHTS_BY_VERSION = (13, 14, 15, 15, 16)
"""How many rights each version knows; later ones know as many as the last."""
NETWORK_FROM = 4
SCOPE_FROM = 6
BIND_AND_CONNECT = 0b11
ABSTRACT_SOCKETS_AND_SIGNALS = 0b11

Plan = dict[str, list[str]]


def main() -> None:
    """Do what the plan says, in this order, and become the command."""
    end = sys.argv.index("--")
    plan: Plan = {}
    for word in sys.argv[1:end]:
        key, _, value = word.partition("=")
        plan.setdefault(key, []).append(value)
    for file in plan.get("enter", ()):
        _write(file, "0")
    for pair in plan.get("limit", ()):
        limit, _, bound = pair.partition(":")
        lower(int(limit), int(bound))
    _write("/proc/self/oom_score_adj", OOM_FIRST)
    if "staged" in plan:
        _stage(plan["stage"][0], plan["staged"])
    uid = int(plan["uid"][0])
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    os.umask(0o022)
    if "own" in plan:
        _wall_in(plan)
    environment = dict(pair.split("=", 1) for pair in plan.get("set", ()))
    os.execve(sys.argv[end + 1], sys.argv[end + 1 :], environment)  # noqa: S606


def lower(limit: int, bound: int, pid: int = 0) -> None:
    """Set a resource limit of a process, 0 for our own, unless it is lower already."""
    _, hard = resource.prlimit(pid, limit)
    if hard == resource.RLIM_INFINITY or hard > bound:
        resource.prlimit(pid, limit, (bound, bound))


def _write(file: str, text: str) -> None:
    fd = os.open(file, os.O_WRONLY)
    os.write(fd, text.encode())
    os.close(fd)


def _stage(stage: str, sources: list[str]) -> None:
    """Bind each source at its number below the stage, out of everybody else's sight."""
    refused = _libc("unshare", CLONE_NEWNS)
    if refused:
        reason = "without CAP_SYS_ADMIN, Python must lie where everybody may enter"
        raise OSError(-refused, reason, sources[0])
    _mount("none", "/", None, MS_REC | MS_PRIVATE)
    _mount("stage", stage, b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=0755,size=64k")
    for number, source in enumerate(sources):
        target = f"{stage}/{number}"
        if stat.S_ISDIR(os.stat(source).st_mode):
            os.mkdir(target)
        else:
            os.close(os.open(target, os.O_CREAT))
        _mount(source, target, None, MS_BIND | MS_REC)


def _mount(
    source: str, target: str, kind: bytes | None, flags: int, options: bytes | None = None
) -> None:
    _checked(target, "mount", os.fsencode(source), os.fsencode(target), kind, flags, options)


def _wall_in(plan: Plan) -> None:
    """Restrict this process, and all that come from it, for good."""
    os.chdir(plan["own"][0])
    _checked("prctl", "prctl", PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
    _checked("prctl", "prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _restrict_files(plan)
    from ctypes import addressof, create_string_buffer  # noqa: PLC0415  (see above)

    program = bytes.fromhex(plan["filter"][0])
    instructions = create_string_buffer(program, len(program))
    length = len(program) // INSTRUCTION_BYTES
    fprog = struct.pack("HxxxxxxP", length, addressof(instructions))
    _checked("seccomp", "prctl", PR_SET_SECCOMP, SECCOMP_MODE_FILTER, fprog, 0, 0)


def _restrict_files(plan: Plan) -> None:
    """Allow some paths; forbid all others, TCP, foreign abstract sockets and foreign signals."""
    version = landlock_version()
    known = (1 << FILE_RIGHTS_BY_VERSION[min(version, len(FILE_RIGHTS_BY_VERSION)) - 1]) - 1
    attributes = struct.pack("Q", known)
    if version >= NETWORK_FROM:
        attributes += struct.pack("Q", BIND_AND_CONNECT)
    if version >= SCOPE_FROM:
        attributes += struct.pack("Q", ABSTRACT_SOCKETS_AND_SIGNALS)
    ruleset = _landlock(LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0)
    for key, rights in (
        ("listed", READ_DIR),
        ("readable", READ),
        ("changeable", CHANGE),
        ("own", known & ~MAKE_CHAR & ~MAKE_BLOCK),
    ):
        for path in plan[key]:
            parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
            mask = known if stat.S_ISDIR(os.fstat(parent).st_mode) else known & OF_A_FILE
            rule = struct.pack("=Qi", rights & mask, parent)
            _landlock(LANDLOCK_ADD_RULE, ruleset, RULE_PATH_BENEATH, rule, 0)
            os.close(parent)
    _landlock(LANDLOCK_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def landlock_version() -> int:
    """Return what version of Landlock the kernel has.

    Raises:
        OSError: none.

    """
    return _landlock(LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_VERSION)


def _landlock(number: int, *arguments: int | bytes | None) -> int:
    return _checked("landlock", "syscall", number, *arguments)


def _checked(what: str, function: str, *arguments: int | bytes | None) -> int:
    result = _libc(function, *arguments)
    if result < 0:
        raise OSError(-result, os.strerror(-result), what)
    return result


def _libc(function: str, *arguments: int | bytes | None) -> int:
    """Call a function of the C library; return what it does, or the error number as a negative."""
    import ctypes  # noqa: PLC0415  (see above)

    call = ctypes.CDLL(None, use_errno=True)[function]
    call.restype = ctypes.c_long
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    result = int(call(*words))
    return -ctypes.get_errno() if result < 0 else result


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"{error.strerror} ({error.filename or sys.argv[2]})")
