"""Text of others on our terminal: shown, never obeyed.

A log or a message may hold escape sequences that move the cursor, set the title or hide a line, and
marks that reverse the direction of writing. Whatever is not printable is written as an escape.
"""

import sys

from rich.console import Console

PIPE_WIDTH = 200
"""Columns where nobody looks at a terminal: wide enough that no table is broken."""


def plain(text: str) -> str:
    """Return `text` on one line, without anything that a terminal would act on."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def plain_lines(text: str) -> list[str]:
    r"""Return the lines of `text`, ended by `\n` or `\r\n`, each plain, with blanks for tabs."""
    return [plain(line.removesuffix("\r").expandtabs(4)) for line in text.split("\n")]


def shortened(text: str, characters: int) -> str:
    """Return `text`, with its middle left out where it is longer than so many characters."""
    half = characters // 2
    cut = f"{text[:half]} [{len(text) - 2 * half} characters left out] {text[-half:]}"
    return min(text, cut, key=len)


def console(stderr: bool = False) -> Console:
    """Return a console that takes text as it is: no markup, no emoji codes, no broken lines."""
    file = sys.stderr if stderr else sys.stdout
    return Console(
        file=file,
        width=None if file.isatty() else PIPE_WIDTH,
        markup=False,
        emoji=False,
        highlight=False,
        soft_wrap=True,
    )


def say(line: str) -> None:
    """Print one line on stdout, at once."""
    console().print(plain(line))
