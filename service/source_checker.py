"""Looks at sources: a small one on the spot, others in turn and in processes of their own."""

import asyncio
import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from contract.errors import InvalidSubmission
from contract.job import WorkerInfo
from service.child import output_of
from service.source_check import Refusal, check

SMALL_BYTES = 32 << 10
"""Parsed on the spot, in some milliseconds and megabytes. A larger file gets a process."""
CHECKER = Path(__file__).with_name("source_check.py")
OWN_GRAMMAR = sys.version_info[:2]


class SourceChecker:
    """Refuses what no worker could run."""

    def __init__(self, at_once: int, limit_s: float) -> None:
        """Have so many processes at once, each for `limit_s` at most."""
        self._free = asyncio.Semaphore(at_once)
        self._limit_s = limit_s

    async def check(self, source: bytes, grammar: tuple[int, int] | None, field: str) -> None:
        """Look at a source, whose `grammar` is that of `grammar_of`.

        Raises:
            InvalidSubmission: naming the field, what is wrong, and where.

        """
        if len(source) <= SMALL_BYTES:
            with warnings.catch_warnings(action="ignore"):
                refusal = check(source, grammar)
        else:
            async with self._free:
                refusal = await refusal_of(source, grammar, self._limit_s)
        if refusal is not None:
            said = {name: value for name, value in refusal._asdict().items() if value is not None}
            raise InvalidSubmission(field, **said)


async def refusal_of(
    source: bytes, grammar: tuple[int, int] | None, limit_s: float
) -> Refusal | None:
    """Have the source looked at by a process of its own; None also where that took too long."""
    command = [sys.executable, "-I", "-S", "-W", "ignore", str(CHECKER)]
    if grammar is not None:
        command.append(f"{grammar[0]}.{grammar[1]}")
    try:
        found = await output_of(command, source, limit_s)
    except TimeoutError:
        return None
    if found is None:
        return Refusal("the Python parser cannot cope with this file")
    answer = json.loads(found)
    return answer and Refusal(**answer)


def grammar_of(workers: Sequence[WorkerInfo], device: str) -> tuple[int, int] | None:
    """Return the newest Python of those workers that may get the job.

    None where that is newer than our own, which then cannot tell. Where no worker is alive they are
    taken to be like ourselves.
    """
    able = [each for each in workers if device in each.serves] or workers
    newest = max((_version(each.python) for each in able), default=OWN_GRAMMAR)
    return newest if newest <= OWN_GRAMMAR else None


def _version(python: str) -> tuple[int, int]:
    major, minor = python.split(".")[:2]
    return int(major), int(minor)
