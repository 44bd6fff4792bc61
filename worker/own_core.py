"""A core of the judge's own while it times, and the others for everybody else.

Judge and runner wait for one another by looking, not by sleeping. A scheduler may leave two such
processes on one core for longer than a call lasts; each then waits until the other's turn of 4 ms
is over, while the device idles.
"""

import os
from types import TracebackType
from typing import Final

FEWEST: Final = 3
"""Cores that have to be left for everybody else; with fewer the scheduler does what it can."""


class OwnCore:
    """Inside a `with` this thread has a core to itself; outside it keeps off those of all judges.

    What the process starts outside, threads and children, keeps off them as well.
    """

    def __init__(self, number: int, judges: int) -> None:
        """Take the core of judge `number` of so many on this machine."""
        cores = sorted(os.sched_getaffinity(0))
        self._inside = self._outside = set(cores)
        if len(cores) - judges >= FEWEST:
            self._inside = {cores[-1 - number]}
            self._outside = set(cores[:-judges])
        os.sched_setaffinity(0, self._outside)

    @property
    def others(self) -> int:
        """How many cores are left for everybody else: more threads would wait for one another."""
        return len(self._outside)

    def __enter__(self) -> None:
        """Move this thread to its own core."""
        os.sched_setaffinity(0, self._inside)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Move it back among the others."""
        os.sched_setaffinity(0, self._outside)
