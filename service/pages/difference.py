"""The difference of two sources, found by a process of its own within a limit.

A hostile pair of files keeps difflib busy for minutes, and with it every client of this process.
So the child is this file, run as a script: it loads the standard library only.
"""

import asyncio
import difflib
import json
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

CONTEXT_LINES = 3
SHOWN_LINES = 3000


class Line(NamedTuple):
    """A line of the difference, with its numbers in both files."""

    kind: str
    """`same`, `removed`, `added`; or `gap`, where lines that are the same are left out."""
    a: int | None
    b: int | None
    text: str


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
                return await self._found(texts)
        except TimeoutError:
            return None

    async def _found(self, texts: bytes) -> Sequence[Line] | None:
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", __file__),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(self._limit_s):
                found, _ = await child.communicate(texts)
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
        return None if child.returncode else [Line(*each) for each in json.loads(found)]


def lines(a: Sequence[str], b: Sequence[str]) -> Iterator[Line]:
    """Yield what differs, with some lines around it."""
    end = 0
    for group in difflib.SequenceMatcher(None, a, b).get_grouped_opcodes(CONTEXT_LINES):
        if group[0][1] > end:
            yield Line("gap", None, None, "")
        for kind, a_from, a_to, b_from, b_to in group:
            if kind == "equal":
                for at in range(a_to - a_from):
                    yield Line("same", a_from + at + 1, b_from + at + 1, a[a_from + at])
                continue
            yield from (Line("removed", at + 1, None, a[at]) for at in range(a_from, a_to))
            yield from (Line("added", None, at + 1, b[at]) for at in range(b_from, b_to))
        end = group[-1][2]
    if 0 < end < len(a):
        yield Line("gap", None, None, "")


def main() -> None:
    """Read two texts as JSON, write the lines of their difference as JSON."""
    a, b = (text.splitlines() for text in json.load(sys.stdin))
    found = [line for _, line in zip(range(SHOWN_LINES), lines(a, b), strict=False)]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
