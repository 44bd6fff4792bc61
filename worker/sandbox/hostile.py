"""What a hostile submission would try: `python -I hostile.py BAIT`, printed as JSON, name by name.

Each action tries one thing, in a process of its own, and says what it got. Nothing (an error, an
empty text, a killed process) means that the sandbox is shut in this place. Standard library only:
the text of this file is handed to a Python inside. BAIT is what `bait.py` says about itself.
"""

import ctypes
import errno
import fcntl
import json
import os
import resource
import signal
import socket
import stat
import struct
import sys
import sysconfig
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

ACTION_S: Final = 15
"""A longer action counts as failed."""
FILL_BYTES: Final = 768 << 20
CHUNK_BYTES: Final = 16 << 20
PROCESSES: Final = 400

LIBC: Final = ctypes.CDLL(None, use_errno=True)
BAIT: Final[dict[str, Any]] = json.loads(sys.argv[1])
SECRET: Final = BAIT["secret"].encode()
ACTIONS: Final[dict[str, Callable[[], str]]] = {}

CLONE_NEWUSER: Final = 0x10000000
PR_GET_NO_NEW_PRIVS: Final = 39
PTRACE_TRACEME: Final = 0
PTRACE_SEIZE: Final = 0x4206


def action(function: Callable[[], str]) -> Callable[[], str]:
    """Add an action under the name of its function."""
    ACTIONS[function.__name__.lstrip("_")] = function
    return function


def call(name: str, *arguments: int | bytes | None) -> int:
    """Make a system call by name. The numbers come with the bait, for this machine."""
    LIBC.syscall.restype = ctypes.c_long
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    result = LIBC.syscall(ctypes.c_long(BAIT["calls"][name]), *words)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return int(result)


def judge(file: str) -> Path:
    """Return a file of the stand-in judge in /proc, if that process is the one that we mean."""
    folder = Path(f"/proc/{BAIT['pid']}")
    started = (folder / "stat").read_text().rpartition(")")[2].split()[19]
    if started != BAIT["started"]:
        raise OSError("another process of the same number")
    return folder / file


def holds_secret(content: bytes) -> str:
    """Say so if the secret is in there."""
    return "the secret" if SECRET in content else ""


# Other processes


@action
def _see_processes() -> str:
    return str(judge("stat"))


@action
def _read_environment_of_judge() -> str:
    return holds_secret(judge("environ").read_bytes())


@action
def _read_memory_of_judge() -> str:
    with judge("mem").open("rb", buffering=0) as memory:
        memory.seek(BAIT["address"])
        return holds_secret(memory.read(len(SECRET)))


@action
def _read_descriptor_of_judge() -> str:
    return holds_secret(judge(f"fd/{BAIT['fd']}").read_bytes())


@action
def _trace_judge() -> str:
    judge("stat")
    call("ptrace", PTRACE_SEIZE, BAIT["pid"], 0, 0)
    return "attached"


@action
def _read_judge_by_process_vm_readv() -> str:
    content = ctypes.create_string_buffer(len(SECRET))
    local = struct.pack("PN", ctypes.addressof(content), len(SECRET))
    remote = struct.pack("PN", BAIT["address"], len(SECRET))
    call("process_vm_readv", BAIT["pid"], local, 1, remote, 1, 0)
    return holds_secret(content.raw)


@action
def _take_descriptor_of_judge() -> str:
    fd = call("pidfd_getfd", os.pidfd_open(BAIT["pid"]), BAIT["fd"], 0)
    return holds_secret(os.pread(fd, 4096, 0))


@action
def _signal_judge() -> str:
    judge("stat")
    os.kill(BAIT["pid"], 0)
    return "could send"


@action
def _limit_judge() -> str:
    judge("stat")
    limits = resource.prlimit(BAIT["pid"], resource.RLIMIT_CORE)
    resource.prlimit(BAIT["pid"], resource.RLIMIT_CORE, limits)
    return "could set"


@action
def _trace_a_child() -> str:
    call("ptrace", PTRACE_TRACEME, 0, 0, 0)
    return "allowed"


# Files and secrets


@action
def _read_secret_file() -> str:
    return holds_secret(Path(BAIT["file"]).read_bytes())


@action
def _read_shadow() -> str:
    return Path("/etc/shadow").read_text() and "/etc/shadow"


@action
def _see_host_tmp() -> str:
    folder = Path(BAIT["folder"])
    return folder.name if folder.name in os.listdir(folder.parent) else ""


@action
def _find_secret_in_environment() -> str:
    return holds_secret("".join(os.environ.values()).encode())  # noqa: TID251


@action
def _find_inherited_descriptors() -> str:
    found = [fd for fd in range(3, 1024) if _is_inherited(fd)]
    links = [f"{fd}: {os.readlink(f'/proc/self/fd/{fd}')}" for fd in found]
    return ", ".join(links) if len(links) > 1 else ""  # one is given: the socket to the judge


def _is_inherited(fd: int) -> bool:
    with suppress(OSError):
        return os.get_inheritable(fd)  # Python opens all of its own close-on-exec
    return False


def _write_in(folder: str) -> str:
    file = Path(folder, f"hostile-{os.getpid()}")
    file.write_text("x")
    file.unlink()
    return str(file)


for name, folder in (
    ("usr", "/usr"),
    ("packages", sysconfig.get_path("purelib")),
    ("root", "/"),
    ("dev", "/dev"),
    ("etc", "/etc"),
):
    ACTIONS[f"write_{name}"] = partial(_write_in, folder)


@action
def _write_kernel_setting() -> str:
    os.close(os.open("/proc/sys/vm/drop_caches", os.O_WRONLY))
    return "opened"


@action
def _make_device() -> str:
    node = Path.cwd() / f"node-{os.getpid()}"
    os.mknod(node, stat.S_IFCHR | 0o600, os.makedev(1, 1))
    node.unlink()
    return "made"


@action
def _leave_control_group() -> str:
    for file in Path("/sys/fs/cgroup").rglob("cgroup.procs"):
        with suppress(OSError):
            os.close(os.open(file, os.O_WRONLY))
            return str(file)
    return ""


@action
def _dump_core() -> str:
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    return "" if hard in (0, 1) else f"limit {hard}"


# Network


@action
def _connect_to_loopback() -> str:
    socket.create_connection(("127.0.0.1", BAIT["port"]), timeout=1).close()
    return "connected"


def _connect(address: str) -> str:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(1)
        client.connect(address)
    return "connected"


ACTIONS["connect_to_abstract_socket"] = partial(_connect, "\0" + BAIT["abstract"])
ACTIONS["connect_to_path_socket"] = partial(_connect, BAIT["socket"])


@action
def _open_internet_socket() -> str:
    socket.socket(socket.AF_INET).close()
    return "opened"


@action
def _see_interfaces() -> str:
    names = set()
    with suppress(OSError):
        names.update(os.listdir("/sys/class/net"))
    with suppress(OSError):
        names.update(name for _, name in socket.if_nameindex())
    with suppress(OSError):
        lines = Path("/proc/net/dev").read_text().splitlines()[2:]
        names.update(line.partition(":")[0].strip() for line in lines)
    return " ".join(names - {"lo"})


# Privileges


@action
def _keep_capabilities() -> str:
    lines = Path("/proc/self/status").read_text().splitlines()
    held = [line for line in lines if line.startswith(("CapInh", "CapPrm", "CapEff", "CapAmb"))]
    return " ".join(line for line in held if int(line.split()[1], 16))


@action
def _gain_privileges_by_exec() -> str:
    return "" if LIBC.prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) else "no_new_privs is not set"


@action
def _become_root() -> str:
    os.setresuid(0, 0, 0)
    return "uid 0"


@action
def _unshare_user_namespace() -> str:
    call("unshare", CLONE_NEWUSER)
    return "made"


@action
def _clone_user_namespace() -> str:
    clone = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
    child = LIBC.syscall(
        ctypes.c_long(clone), CLONE_NEWUSER | signal.SIGCHLD, None, None, None, None
    )
    if child == 0:
        os._exit(0)
    return "made" if child > 0 else ""


def _reaches_kernel(name: str, *arguments: int | bytes | None) -> str:
    """Whether the call got past a filter: the arguments are wrong, and the kernel says so."""
    try:
        call(name, *arguments)
    except OSError as error:
        refused = error.errno in (errno.EPERM, errno.EACCES, errno.ENOSYS)
        return "" if refused else errno.errorcode[error.errno or 0]
    return "allowed"


for name, wrong_call in (
    ("mount_something", ("mount", b"none", b"/nowhere", b"tmpfs", 0, None)),
    ("open_by_handle", ("open_by_handle_at", -1, None, 0)),
    ("use_io_uring", ("io_uring_setup", 1, None)),
    ("use_bpf", ("bpf", -1, None, 0)),
    ("use_performance_counters", ("perf_event_open", None, 0, -1, -1, 0)),
    ("use_userfaultfd", ("userfaultfd", -1)),
    ("use_keyrings", ("keyctl", 0, -1, 0)),
):
    ACTIONS[name] = partial(_reaches_kernel, *wrong_call)


@action
def _type_into_terminal() -> str:
    _, terminal = os.openpty()
    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    fcntl.ioctl(terminal, termios.TIOCSTI, b"x")
    return "typed"


# Exhaustion


@action
def _start_400_processes() -> str:
    with _children() as children:
        for _ in range(PROCESSES):
            child = os.fork()
            if child == 0:
                signal.pause()
            children.append(child)
    return f"{len(children)} processes"


@contextmanager
def _children() -> Iterator[list[int]]:
    children: list[int] = []
    try:
        yield children
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _fill(folder: str) -> str:
    """Write 768 MiB in several files, so that a limit of file size alone does not do."""
    files = []
    try:
        for number in range(FILL_BYTES // CHUNK_BYTES):
            file = Path(folder, f"fill-{os.getpid()}-{number}")
            files.append(file)
            file.write_bytes(bytes(CHUNK_BYTES))
    finally:
        for file in files:
            file.unlink(missing_ok=True)
    return f"{FILL_BYTES} bytes"


ACTIONS["fill_scratch"] = partial(_fill, ".")
ACTIONS["fill_shared_memory"] = partial(_fill, "/dev/shm")  # noqa: S108


def attempt(function: Callable[[], str]) -> str:
    """Run one action in a child and return what it got."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        with suppress(Exception):
            os.write(write_end, function().encode()[:4096])
        os._exit(0)
    os.close(write_end)
    deadline_s = time.monotonic() + ACTION_S
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline_s:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.001)
    with open(read_end, "rb") as said:
        return said.read().decode(errors="replace")


if __name__ == "__main__":
    sys.stdout.write(json.dumps({name: attempt(function) for name, function in ACTIONS.items()}))
