"""Folders in /tmp, each locked while its maker lives, so that what a killed one left can be told.

The kernel lets go of a lock when its holder dies; `worker.sandbox.sweep` removes what nobody holds.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FOLDER: Final = Path("/tmp")  # noqa: S108  (the same for a judge and its worker, whatever TMPDIR)
PREFIX: Final = "halfbyte-scratch-"
OPEN: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True)
class Scratch:
    """A folder of ours."""

    path: Path
    _lock_fd: int

    def remove(self) -> None:
        """Remove it with all that is in it. Never raises; safe to repeat."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1


def make_scratch() -> Scratch:
    """Make a folder that only our user may enter.

    Raises:
        OSError: there is no place for it.

    """
    while True:
        path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=FOLDER))
        with suppress(FileNotFoundError):  # swept before we locked it
            lock_fd = os.open(path, OPEN)
            fcntl.flock(lock_fd, fcntl.LOCK_EX)
            if os.fstat(lock_fd).st_nlink:
                return Scratch(path, lock_fd)
            os.close(lock_fd)


def sweep_scratch(uids: Collection[int]) -> None:
    """Remove the folders that no living process holds and that belong to one of these users."""
    for path in FOLDER.glob(f"{PREFIX}*"):
        try:
            lock_fd = os.open(path, OPEN)
        except OSError:
            continue  # gone, not ours, or no folder
        try:
            if os.fstat(lock_fd).st_uid in uids:
                fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
        except BlockingIOError:
            continue
        finally:
            os.close(lock_fd)
