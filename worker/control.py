"""Four words at the head of the arena, with which judge and runner take turns on a GPU.

The judge wakes the runner, which touches the device so that neither its code nor its context is
cold, and says that it is awake. The judge then releases the call, and the runner is done with it. A
socket's wake-up would blur the clock, so both sides spin; and the device itself waits for the last
word, behind which the judge has enqueued the copy of the outputs. What the runner writes is a
claim. The judge writes the last word too, where the runner does not.
"""

import mmap
from typing import Final

WOKEN: Final = 0
AWAKE: Final = 8
RELEASED: Final = 16
FINISHED: Final = 24
"""Words lie 64 bytes apart, so that the two sides do not fight for one cache line."""
FINISHED_BYTE: Final = 8 * FINISHED
PAGE_BYTES: Final = 256


class ControlPage:
    """The words, over a mapped host piece. Each holds the token of the call it was written for."""

    def __init__(self, mapping: mmap.mmap) -> None:
        """Look at the first page."""
        self._words = memoryview(mapping)[:PAGE_BYTES].cast("Q")

    def wake(self, token: int) -> None:
        """Judge: touch the device for this call."""
        self._words[WOKEN] = token

    def woken(self) -> int:
        """Return the token that was woken last."""
        return self._words[WOKEN]

    def say_awake(self, token: int) -> None:
        """Runner: the device was touched."""
        self._words[AWAKE] = token

    def awake(self) -> int:
        """Return the token that the runner was awake for last."""
        return self._words[AWAKE]

    def release(self, token: int) -> None:
        """Judge: let the call begin."""
        self._words[RELEASED] = token

    def released(self) -> int:
        """Return the token that was released last."""
        return self._words[RELEASED]

    def finish(self, token: int) -> None:
        """Runner: the call is done."""
        self._words[FINISHED] = token

    def finished(self) -> int:
        """Return the token that was done last."""
        return self._words[FINISHED]
