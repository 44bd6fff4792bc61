"""The memory of a process and its descendants, watched from outside, where no control group can be.

Looks a few times a second, so a fast process gets past the limit for a moment; and it does not see
memory that is not mapped, such as files in a memfd. Those are the reasons why this is level 1.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Final

INTERVAL_S: Final = 0.1
KIB: Final = 1024


class Watchdog:
    """A thread that ends a process tree above a limit."""

    def __init__(self, root_pid: int, root_pidfd: int, limit_bytes: int) -> None:
        """Start watching a process whose end is the end of its descendants."""
        self._root_pid = root_pid
        self._root_pidfd = os.dup(root_pidfd)  # the thread may outlive its caller's
        self._limit_bytes = limit_bytes
        self._exceeded = threading.Event()
        self._stop = threading.Event()
        threading.Thread(target=self._watch, name="memory", daemon=True).start()

    def out_of_memory(self) -> bool:
        """Whether the limit was exceeded."""
        return self._exceeded.is_set()

    def remove(self) -> None:
        """Stop watching."""
        self._stop.set()

    def _watch(self) -> None:
        with FileIO(self._root_pidfd):
            while not self._stop.wait(INTERVAL_S):
                if self._exceeds():
                    self._exceeded.set()
                    with suppress(OSError):
                        signal.pidfd_send_signal(self._root_pidfd, signal.SIGKILL)
                    return

    def _exceeds(self) -> bool:
        """Compare resident memory first, which counts a shared page once a process, then the exact
        sum, which is slow to get.
        """
        pids = list(tree(self._root_pid))
        return (
            sum(_kib(pid, "status", ("RssAnon:", "RssShmem:")) for pid in pids) * KIB
            > self._limit_bytes
            and sum(_kib(pid, "smaps_rollup", ("Pss_Anon:", "Pss_Shmem:")) for pid in pids) * KIB
            > self._limit_bytes
        )


def tree(root_pid: int) -> Iterator[int]:
    """Yield a process and all that descend from it."""
    yield root_pid
    with suppress(OSError):
        for task in Path(f"/proc/{root_pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from tree(int(child))


def _kib(pid: int, file: str, keys: tuple[str, ...]) -> int:
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith(keys))
    return 0
