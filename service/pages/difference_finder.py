"""Has the difference of two sources found by a process of its own within a limit.

A hostile pair of files keeps difflib busy for minutes, and with it every client of this process.
"""

import asyncio
import json
import sys
from collections.abc import Sequence

from service.child import output_of
from service.pages import difference
from service.pages.difference import Line

COMMAND = (sys.executable, "-I", "-S", difference.__file__)


class Differences:
    """Finds differences, some at once and the others in turn."""

    def __init__(self, at_once: int = 2, limit_s: float = 5) -> None:
        """Let each take `limit_s` at most."""
        self._free = asyncio.Semaphore(at_once)
        self._limit_s = limit_s

    async def of(self, a: bytes, b: bytes) -> Sequence[Line] | None:
        """Return the lines around what differs, `SHOWN_LINES` at most.

        None where it takes too long, or too long to have its turn.
        """
        texts = json.dumps([each.decode(errors="replace") for each in (a, b)]).encode()
        try:
            async with asyncio.timeout(2 * self._limit_s), self._free:
                found = await output_of(COMMAND, texts, self._limit_s)
        except TimeoutError:
            return None
        return None if found is None else [Line(*each) for each in json.loads(found)]
