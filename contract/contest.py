"""What an organiser opens and closes: the whole intake, and the boards that a contest shows.

Keys, under the prefix
    stopped     there while no job is accepted
    closed      set: problems whose boards are hidden
"""

from collections.abc import Set as AbstractSet

from contract.errors import IntakeStopped
from contract.prelude import PRELUDE
from contract.store import Store

_INTAKE = (
    PRELUDE
    + """
if given.open then redis.call('DEL', key('stopped')) else redis.call('SET', key('stopped'), 1) end
"""
)
_STOPPED = PRELUDE + "return redis.call('EXISTS', key('stopped'))"
_BOARD = PRELUDE + "redis.call(given.open and 'SREM' or 'SADD', key('closed'), given.problem)"
_CLOSED = PRELUDE + "return redis.call('SMEMBERS', key('closed'))"


class Contest:
    """The switches of one queue. Raises `QueueUnavailable` while Redis does not answer."""

    def __init__(self, store: Store) -> None:
        """Switch where the queue is."""
        self._store = store

    async def accept(self, jobs: bool) -> None:
        """Accept jobs from now on, or refuse them, by whatever road they come."""
        await self._store.run(_INTAKE, open=jobs)

    async def check_open(self) -> None:
        """Let a job pass.

        Raises:
            IntakeStopped: no job is accepted now.

        """
        if await self._store.run(_STOPPED):
            raise IntakeStopped("no jobs are accepted now: an organiser has stopped the intake")

    async def show(self, problem: str, shown: bool) -> None:
        """Show the board of a problem in the contest, or hide it. Results stay either way."""
        await self._store.run(_BOARD, problem=problem, open=shown)

    async def hidden(self) -> AbstractSet[str]:
        """Return the problems whose boards are hidden."""
        return {name.decode() for name in await self._store.run(_CLOSED)}
