"""Processes and their children: die with the parent, and leave no stray behind."""

import ctypes
import os
import signal
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

PR_SET_PDEATHSIG: Final = 1
PR_SET_DUMPABLE: Final = 4
PR_SET_CHILD_SUBREAPER: Final = 36


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it ends."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def be_opaque() -> None:
    """Keep other processes of the same user out of our memory and descriptors."""
    _prctl(PR_SET_DUMPABLE, 0)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, so that it can be found."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def children(parent: int) -> Iterator[int]:
    """Yield the processes whose parent is `parent`, zombies included."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                stat = (entry / "stat").read_text()
                if int(stat.rpartition(")")[2].split()[1]) == parent:
                    yield int(entry.name)


def kill_strays(known: Collection[int]) -> int:
    """Kill and reap every child of ours but the known ones, until none is left; return how many.

    Killing one hands its own children to us, so the search is repeated until it finds nothing.
    """
    killed = 0
    while strays := [pid for pid in children(os.getpid()) if pid not in known]:
        for pid in strays:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)
            killed += 1
    return killed
