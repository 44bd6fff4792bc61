"""What a candidate prints: read by bytes while it runs, head and tail kept, the middle counted."""

import os
import threading
from typing import Final

CHUNK_BYTES: Final = 1 << 16
REPLACEMENT: Final = "\ufffd"


class Capture:
    """Drains one pipe in a thread. Memory stays flat however much is written."""

    def __init__(self, limit_bytes: int) -> None:
        """Open the pipe and start to drain it; `write_fd` goes to the child."""
        self._half = limit_bytes // 2
        self._head = bytearray()
        self._tail = bytearray()
        self.total_bytes = 0
        self._read_fd, self.write_fd = os.pipe2(os.O_CLOEXEC)
        self._thread = threading.Thread(target=self._drain, name="capture", daemon=True)
        self._thread.start()

    def _drain(self) -> None:
        while chunk := os.read(self._read_fd, CHUNK_BYTES):
            self._keep(chunk)
        os.close(self._read_fd)

    def _keep(self, chunk: bytes) -> None:
        self.total_bytes += len(chunk)
        room = self._half - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if chunk:
            self._tail += chunk
            if len(self._tail) > self._half:
                del self._tail[: len(self._tail) - self._half]

    def close_write_end(self) -> None:
        """Close our copy of the child's end, so that the pipe ends with the child."""
        os.close(self.write_fd)

    def finish(self, timeout_s: float) -> None:
        """Wait until every writer is gone and the rest is read."""
        self._thread.join(timeout_s)

    @property
    def truncated(self) -> bool:
        """Whether bytes were left out."""
        return self.total_bytes > len(self._head) + len(self._tail)

    def text(self) -> str:
        """Return what was kept, cut at character boundaries, undecodable bytes replaced."""
        if not self.truncated:
            return bytes(self._head + self._tail).decode("utf-8", "replace")
        left_out = self.total_bytes - len(self._head) - len(self._tail)
        head = bytes(self._head).decode("utf-8", "replace").rstrip(REPLACEMENT)
        tail = bytes(self._tail).decode("utf-8", "replace").lstrip(REPLACEMENT)
        return f"{head}\n... {left_out} bytes left out ...\n{tail}"
