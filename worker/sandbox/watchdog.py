"""The memory of a candidate's processes, watched from outside, where no control group can be.

Looks a few times a second, so a fast process gets past the limit for a moment; and it does not see
memory that is not mapped, such as files in a memfd. Those are the reasons why this is level 1.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

INTERVAL_S: Final = 0.1
KIB: Final = 1024


class Watchdog:
    """A thread that ends some processes when they together take too much."""

    def __init__(
        self, pids: Callable[[], Iterable[int]], limit_bytes: int, end: Callable[[], object]
    ) -> None:
        """Start watching."""
        self._pids = pids
        self._limit_bytes = limit_bytes
        self._end = end
        self._exceeded = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="memory", daemon=True)
        self._thread.start()

    def out_of_memory(self) -> bool:
        """Whether the limit was exceeded."""
        return self._exceeded.is_set()

    def remove(self) -> None:
        """Stop watching: `end` is not called after this returns."""
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(INTERVAL_S):
            if self._exceeds():
                self._exceeded.set()
                self._end()
                return

    def _exceeds(self) -> bool:
        """Compare the quick sum first, which counts a shared page once a process."""
        pids = list(self._pids())
        return all(
            sum(_bytes(pid, exact) for pid in pids) > self._limit_bytes for exact in (False, True)
        )


def tree(root_pid: int) -> Iterator[int]:
    """Yield a process and all that descend from it."""
    yield root_pid
    with suppress(OSError):
        for task in Path(f"/proc/{root_pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from tree(int(child))


def _bytes(pid: int, exact: bool) -> int:
    """Return the memory of a process; exact where we may look that closely, which takes longer."""
    files = [("status", ("RssAnon:", "RssShmem:"))]
    if exact:  # root in a container may not, at a process of another uid
        files.insert(0, ("smaps_rollup", ("Pss_Anon:", "Pss_Shmem:")))
    for name, keys in files:
        with suppress(OSError):
            lines = Path(f"/proc/{pid}/{name}").read_text().splitlines()
            return sum(int(line.split()[1]) * KIB for line in lines if line.startswith(keys))
    return 0
