"""Start a program that dies with us, even when we are killed with SIGKILL.

    python -m client.child PARENT_PID PROGRAM [ARGUMENT...]

The kernel is asked for SIGKILL at the parent's death, then the program takes this process over:
same pid, no process in between. A wrapper does it because code between fork and exec of a process
with threads is unsafe. The child leads a session of its own, so that Ctrl-C at the terminal reaches
the parent alone, which stops its children in order.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from client.environment import inherited

PR_SET_PDEATHSIG = 1


def python(module: str, *arguments: str) -> tuple[str, ...]:
    """Return the command line that runs a module of this installation.

    -P keeps the working directory out of the search path: a user's own folder called `service` or
    `worker` must not be taken for ours.
    """
    return (sys.executable, "-P", "-m", module, *arguments)


def start(
    argv: Sequence[str], env: Mapping[str, str], log: Path | None = None
) -> subprocess.Popen[bytes]:
    """Start `argv` so that it dies with the calling thread; output is added to `log`, or is ours.

    Raises:
        OSError: the log cannot be opened, or no process can be started.

    """
    command = python("client.child", str(os.getpid()), *argv)
    if log is None:
        return subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, start_new_session=True)
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def become(argv: Sequence[str], env: Mapping[str, str]) -> NoReturn:
    """Turn this process into another program."""
    try:
        os.execvpe(argv[0], list(argv), env)  # noqa: S606 - a list of words, no shell
    except OSError as error:
        sys.exit(f"{argv[0]} cannot be started: {error.strerror}")


def _main(parent: int, argv: list[str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    # The parent may have died before the line above took effect: then nobody would ever kill us.
    if os.getppid() != parent:
        sys.exit(f"{argv[0]} not started: its parent {parent} is gone")
    # The parent holds its signals back to take them one at a time; a child must not inherit that.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    become(argv, inherited())


if __name__ == "__main__":
    _main(int(sys.argv[1]), sys.argv[2:])
