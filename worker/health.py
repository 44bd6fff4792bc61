"""Whether this host's worker is alive and fit: `python -m worker.health`, for container engines."""

import asyncio
import socket
import sys

from contract.errors import QueueUnavailable
from contract.queue import JobQueue
from contract.settings import QueueSettings


async def complaint(queue: JobQueue, host: str) -> str | None:
    """Return what is wrong with the workers of a host; None where one of them can work.

    Raises:
        QueueUnavailable: Redis does not answer, so no heartbeat arrives either.

    """
    ours = [worker for worker in await queue.workers() if worker.host == host]
    if not ours:
        return f"no worker of {host} has a fresh heartbeat"
    if not any(worker.fit for worker in ours):
        return f"{ours[0].id} can judge nothing: {ours[0].reason}"
    return None


async def check(settings: QueueSettings) -> str | None:
    """Return what is wrong on this host, None where nothing is."""
    queue = JobQueue.connect(settings)
    try:
        return await complaint(queue, socket.gethostname())
    except QueueUnavailable as error:
        return str(error)
    finally:
        await queue.close()


def main() -> None:
    """End with status 0 where a worker can work; else with 1, and say why not."""
    sys.exit(asyncio.run(check(QueueSettings())))


if __name__ == "__main__":
    main()
