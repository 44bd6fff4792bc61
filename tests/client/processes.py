"""Looking at real processes."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def until(predicate: Callable[[], T], description: str, timeout_s: float = 30) -> T:
    """Return what the predicate returns once that is true."""
    deadline = time.monotonic() + timeout_s
    while not (value := predicate()):
        assert time.monotonic() < deadline, f"waited {timeout_s} s in vain: {description}"
        time.sleep(0.01)
    return value


def alive(pid: int) -> bool:
    """Whether the process runs; one that ended and was not waited for does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


def number_in(path: Path) -> int | None:
    """The number that a process wrote into a file, once it is there."""
    text = path.read_text() if path.exists() else ""
    return int(text) if text.endswith("\n") else None
