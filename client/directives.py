"""Lines in the head of a kernel file that say what it is for.

    #!HALFBYTE problem nvfp4_group_gemm device H200 mode test
    #!POPCORN leaderboard nvfp4_group_gemm
    #!POPCORN gpus B200

HALFBYTE takes pairs of a word and a value. POPCORN is popcorn-cli's: `leaderboard` takes one value,
`gpu` and `gpus` take the rest of the line. The last word of a kind counts. The head is what stands
before the first line of code: comments and empty lines.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

WORDS = ("problem", "device", "mode")
POOLS = ("nvidia",)
"""Names that competition files have for any machine with a GPU."""


@dataclass(frozen=True, slots=True)
class Directives:
    """What a file says of itself; several GPUs are one value with blanks between them."""

    values: Mapping[str, str]
    unknown: tuple[str, ...] = ()
    """A sentence about each word that was not understood."""


def directives(source: bytes) -> Directives:
    """Read the head of a file."""
    values: dict[str, str] = {}
    unknown: list[str] = []
    for number, line in _head(source):
        marker, *words = line.split()
        if marker == "#!HALFBYTE":
            said = _ours(words)
        elif marker == "#!POPCORN":
            said = _popcorn(words)
        else:
            continue
        for word, value in said:
            if value:
                values[word] = value
            else:
                unknown.append(
                    f"line {number}: {marker}: {word or 'an empty line'} is not understood"
                )
    return Directives(values, tuple(unknown))


def _head(source: bytes) -> Iterator[tuple[int, str]]:
    """Yield the comments before the first line of code, with their numbers."""
    text = source.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            yield number, line
        elif line.strip():
            return


def _ours(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield words with their values; what is unknown or lacks its value comes without one."""
    for at in range(0, max(len(words), 1), 2):
        word, value = " ".join(words[at : at + 1]).lower(), " ".join(words[at + 1 : at + 2])
        yield (word, value) if word in WORDS else (" ".join(words[at : at + 2]), "")


def _popcorn(words: list[str]) -> Iterator[tuple[str, str]]:
    match words[0].lower() if len(words) > 1 else None:
        case "leaderboard":
            yield "problem", words[1].lower()
        case "gpu" | "gpus":
            named = " ".join(words[1:])
            yield "device", "any" if named.lower() in POOLS else named
        case _:
            yield " ".join(words), ""
