"""A program of ours that looks at strangers' bytes: a process of its own, within a limit."""

import asyncio
from collections.abc import Sequence


async def output_of(command: Sequence[str], given: bytes, limit_s: float) -> bytes | None:
    """Return what a program writes about what it is given; None where it fails.

    Raises:
        TimeoutError: it took longer, and was killed.

    """
    child = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(limit_s):
            found, _ = await child.communicate(given)
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    return None if child.returncode else found
