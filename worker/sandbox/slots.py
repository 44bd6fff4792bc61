"""A uid of its own for every candidate that runs on this host, whichever worker runs it."""

import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from worker.sandbox.confinement import SandboxUnavailable


@dataclass(slots=True)
class Slot:
    """A uid that nobody else uses while this is held. The kernel lets go of it if we die."""

    uid: int
    _lock_fd: int

    def release(self) -> None:
        """Give it back. Only when every process of this uid is gone."""
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1


@dataclass(frozen=True, slots=True)
class Slots:
    """A range of uids, locked by files in one folder."""

    folder: Path
    uids: range

    def take(self) -> Slot:
        """Lock the first uid that is free.

        Raises:
            OSError: all are taken.

        """
        for uid, file in self._files():
            if (slot := _lock(uid, file)) is not None:
                return slot
        raise OSError(f"all {len(self.uids)} uids from {self.uids.start} on are in use")

    def take_used(self) -> Iterator[Slot]:
        """Lock one after the other all uids that were once taken and are free."""
        for uid, file in self._files():
            if file.exists() and (slot := _lock(uid, file)) is not None:
                yield slot

    def _files(self) -> Iterator[tuple[int, Path]]:
        for uid in self.uids:
            yield uid, self.folder / f"uid-{uid}"


def _lock(uid: int, file: Path) -> Slot | None:
    """Return the slot of a uid, None where somebody holds it."""
    lock_fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock_fd)
        return None
    return Slot(uid, lock_fd)


def open_slots(folder: Path, uids: range) -> Slots:
    """Prepare the folder.

    Raises:
        SandboxUnavailable: we are not root, the range is not fit, or the folder cannot be ours.

    """
    if os.geteuid() != 0:
        raise SandboxUnavailable("a uid of its own for each candidate needs root")
    if uids.start < 1000 or not uids:
        raise SandboxUnavailable(f"uids {uids.start} to {uids.stop - 1} are not for candidates")
    try:
        folder.mkdir(mode=0o711, parents=True, exist_ok=True)
    except OSError as error:
        raise SandboxUnavailable(f"cannot lock uids in {folder}: {error.strerror}") from error
    if folder.stat().st_uid != 0:
        raise SandboxUnavailable(f"{folder} belongs to somebody else")
    return Slots(folder, uids)
