"""What the handles of all ways to confine have in common: one process, ended for good only once."""

import subprocess
import threading


class Handle:
    """A started process. What its end takes besides is said by those who know more of it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        """Own a process."""
        self._process = process
        self._lock = threading.Lock()
        self._destroyed = False

    @property
    def pid(self) -> int:
        """The process that is waited for."""
        return self._process.pid

    def wait(self, timeout_s: float) -> int | None:
        """Return the exit status, None while it lives."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def destroy(self) -> None:
        """Kill all of it and remove what it had. Never raises; safe to repeat, from any thread."""
        with self._lock:
            if not self._destroyed:
                self._end()
                self._destroyed = True

    def _end(self) -> None:
        raise NotImplementedError
