"""The data directory of `halfbyte up`: one owner at a time, and a note of where it serves."""

import fcntl
import json
import os
from pathlib import Path
from typing import TypedDict, cast

from client.errors import UsageError


class Running(TypedDict):
    """What a running `halfbyte up` notes down; readable by its own user only."""

    pid: int
    url: str
    redis_url: str


class AlreadyRunning(UsageError):
    """Another `halfbyte up` owns the directory."""


class DataDir:
    """Owned from `with` to its end. The lock goes with the process, however it ends."""

    def __init__(self, path: Path) -> None:
        """Take the path as it is meant from here, whatever becomes of the working directory."""
        self.path = path.expanduser().absolute()
        self.logs = self.path / "logs"
        self._note = self.path / "up.json"

    def __enter__(self) -> "DataDir":
        """Make the directory and own it.

        Raises:
            AlreadyRunning: another process owns it; the message says where that one serves.
            UsageError: it cannot be made or written.

        """
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.logs.mkdir(exist_ok=True)
            self._lock = (self.path / "lock").open("a")
        except OSError as error:
            raise UsageError(f"the data directory cannot be used: {error}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise AlreadyRunning(self._who()) from None
        self._note.unlink(missing_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        """Give the directory up."""
        self._note.unlink(missing_ok=True)
        self._lock.close()

    def note(self, url: str, redis_url: str) -> None:
        """Note down where we serve, for other commands of the same user."""
        running: Running = {"pid": os.getpid(), "url": url, "redis_url": redis_url}
        self._note.touch(mode=0o600)
        self._note.write_text(json.dumps(running), encoding="utf-8")

    def running(self) -> Running | None:
        """Return the note of the `halfbyte up` that owns the directory, if there is one."""
        try:
            with (self.path / "lock").open() as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return None  # Nobody holds it: a note would be what a killed one left behind.
        except BlockingIOError:
            pass
        except OSError:
            return None
        try:
            return cast(Running, json.loads(self._note.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return None

    def _who(self) -> str:
        running = self.running()
        if running is None:
            return f"another halfbyte up is starting or stopping with its data in {self.path}"
        return (
            f"halfbyte up runs already with its data in {self.path}: "
            f"process {running['pid']} serves {running['url']}"
        )


def redis_url_of(data: Path, redis_url: str | None) -> str:
    """Return `redis_url` where one is given, else that of the `halfbyte up` with its data there.

    Raises:
        UsageError: none runs there.

    """
    if redis_url is not None:
        return redis_url
    running = DataDir(data).running()
    if running is None:
        raise UsageError(
            f"no halfbyte up runs with its data in {data}; name its --data, or a --redis URL"
        )
    return running["redis_url"]
