"""Short programs in a sandbox, an ordinary user to be, and who is left alive."""

import os
import secrets
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path

from worker.sandbox.bubblewrap import find_bubblewrap
from worker.sandbox.confinement import Sandbox
from worker.sandbox.selftest import PYTHON, Ended, Trial, start_trial

MEMORY_BYTES = 1 << 30
ORDINARY_UID = 54321


def begin(sandbox: Sandbox, code: str, memory_bytes: int = MEMORY_BYTES) -> Trial:
    return start_trial(
        sandbox, (*PYTHON, "-S", "-c", code), {"PATH": "/usr/bin:/bin"}, memory_bytes
    )


def run(sandbox: Sandbox, code: str, memory_bytes: int = MEMORY_BYTES) -> Ended:
    return begin(sandbox, code, memory_bytes).end(30)


def marker() -> str:
    """Return a word by which a process and its children can be found in /proc."""
    return f"marker-{secrets.token_hex(8)}"


def alive(word: str) -> list[int]:
    """Return the processes whose command line holds the word. A zombie has none."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if word.encode() in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue
    return found


def wait_for(condition: Callable[[], object], description: str, timeout_s: float = 20) -> None:
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline_s, f"waited in vain for {description}"
        time.sleep(0.01)


def as_ordinary_user() -> list[str]:
    """Return the words before a command that run it without root, in a Python it can reach."""
    if os.geteuid() != 0:
        return []
    uid = str(ORDINARY_UID)
    return [*in_the_open(), "setpriv", "--reuid", uid, "--regid", uid, "--clear-groups", "--"]


def in_the_open() -> list[str]:
    """Return the words before a command that run it where everybody can reach Python."""
    words = [str(find_bubblewrap().program), "--dev-bind", "/", "/"]
    prefix = Path(sys.base_prefix)
    parents = [*reversed(prefix.parents)]
    closed = [folder for folder in parents if not folder.stat().st_mode & stat.S_IXOTH]
    if closed:  # as root's home: put an open folder over it, with nothing in it but Python
        words += ["--perms", "0755", "--tmpfs", str(closed[0])]
        for folder in parents[parents.index(closed[0]) + 1 :]:
            words += ["--perms", "0755", "--dir", str(folder)]
        words += ["--ro-bind", str(prefix), str(prefix)]
    return [*words, "--"]
