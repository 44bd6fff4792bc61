"""The difference of two sources: run as a script, so it loads the standard library only.

python -I -S service/pages/difference.py < TEXTS        two texts as JSON in, lines as JSON out
"""

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
