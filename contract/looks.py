"""Status queries: whoever asks while a trip to Redis is under way shares the next one.

A trip costs more than what it brings, and clients that poll come in crowds. Nobody is answered from
a trip that began before he asked, so each sees whatever was written before.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from contract import scripts
from contract.errors import JobNotFound
from contract.job import Look
from contract.records import look_from
from contract.store import Store

_Trip = asyncio.Task[Sequence[Any]]


class Looks:
    """Looks at jobs, with one trip under way and one that gathers who comes meanwhile."""

    def __init__(self, store: Store) -> None:
        """Look at the queue of this store."""
        self._store = store
        self._asked: list[str] = []
        self._next: _Trip | None = None
        self._under_way: _Trip | None = None

    async def at(self, job_id: str) -> Look:
        """Return a job as it is now.

        Raises:
            JobNotFound: there is none, or it is past its retention.
            QueueUnavailable: Redis does not answer.

        """
        place = len(self._asked)
        self._asked.append(job_id)
        if self._next is None:
            self._next = asyncio.create_task(self._trip(self._under_way))
        replies = await asyncio.shield(self._next)  # others want it even when this client leaves
        if replies[place] is None:
            raise JobNotFound(job_id)
        return look_from(replies[place])

    async def _trip(self, earlier: _Trip | None) -> Sequence[Any]:
        if earlier is not None:
            await asyncio.wait({earlier})
        asked, self._asked = self._asked, []
        self._under_way, self._next = self._next, None
        replies: Sequence[Any] = await self._store.run(scripts.LOOK, ids=asked)
        return replies
