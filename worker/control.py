"""Two words at the head of the arena's host piece: the judge releases a call, the runner is done.

Used on a GPU, where a socket's wake-up would blur the clock: both sides spin. The words belong to
whoever writes them; the judge treats `done` as a claim, and its own clock stops when it sees it.
"""

import mmap
from typing import Final

RELEASED: Final = 0
DONE: Final = 8
"""Words lie 64 bytes apart, so that the two sides do not fight for one cache line."""


class ControlPage:
    """The words, over a mapped host piece."""

    def __init__(self, mapping: mmap.mmap) -> None:
        """Look at the first page."""
        self._words = memoryview(mapping)[:128].cast("Q")

    def release(self, token: int) -> None:
        """Let the call of this token begin."""
        self._words[RELEASED] = token

    def released(self) -> int:
        """Return the token that was released last."""
        return self._words[RELEASED]

    def finish(self, token: int) -> None:
        """Say that the call is done."""
        self._words[DONE] = token

    def finished(self) -> int:
        """Return the token that was done last."""
        return self._words[DONE]
