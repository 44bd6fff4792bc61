"""The connection to Redis: runs scripts, and calls every way of not answering `QueueUnavailable`.

Every command runs in a task of its own, shielded: redis-py loses a `cancel()` that meets it while
it writes (asyncio.wait_for on Python 3.11), and a command cut off half-way would leave its
connection out of step.
"""

import asyncio
import json
import re
from collections.abc import Awaitable
from typing import Any, TypeVar

from redis.asyncio import BlockingConnectionPool, ConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff
from redis.commands.core import AsyncScript
from redis.exceptions import (
    ConnectionError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
    TimeoutError,
)

from contract.errors import QueueUnavailable
from contract.settings import QueueSettings

ANSWER_S = 3.0
"""An answer takes at most this long. Nothing here blocks in Redis."""
CONNECTIONS = 32
_RETRY = Retry(ExponentialBackoff(cap=0.2, base=0.02), 3, supported_errors=(ConnectionError,))
# Redis 6.2 hands on what a command in a script met with words of its own before it.
_AWAY = re.compile(
    "(Error running script .* -)?(OOM|READONLY|MISCONF|BUSY|MASTERDOWN|NOREPLICAS|CLUSTERDOWN)"
)

Reply = Any
"""What a script returns: None, a number, bytes, or lists of them."""

T = TypeVar("T")


def connect(url: str) -> Redis:
    """Make a client; it connects when it is used, and repeats a command whose connection broke."""
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=CONNECTIONS,
        timeout=ANSWER_S,
        socket_timeout=ANSWER_S,
        socket_connect_timeout=ANSWER_S,
        retry=_RETRY,
    )
    return Redis.from_pool(pool)


class Store:
    """Runs the scripts of the queue with its settings."""

    def __init__(self, redis: Redis, settings: QueueSettings) -> None:
        """Use a client that leaves bytes as they are (no `decode_responses`)."""
        self._redis = redis
        self.prefix = settings.prefix
        self._settings = {
            "prefix": settings.prefix,
            "events_kept": settings.events_kept,
            "results_kept": settings.results_kept,
            "ranked_kept": settings.ranked_kept,
            "max_attempts": settings.max_attempts,
            "max_queued": settings.max_queued,
            "lease_ms": _ms(settings.lease_s),
            "beat_ms": _ms(settings.beat_s),
            "no_worker_ms": _ms(settings.no_worker_s),
            "retention_ms": _ms(settings.retention_s),
            "idempotency_ms": _ms(settings.idempotency_s),
        }
        self._scripts: dict[str, AsyncScript] = {}
        self._running: set[asyncio.Future[Any]] = set()

    @property
    def pool(self) -> ConnectionPool:
        """The connections, for a library that brings its own commands."""
        return self._redis.connection_pool

    async def close(self) -> None:
        """Let the commands that still run come to their end, and close the connections."""
        if self._running:
            await asyncio.wait(self._running)
        await self._redis.aclose()

    async def run(self, script: str, *blobs: str | bytes, **arguments: object) -> Reply:
        """Run a script; arguments that are None are left out.

        Raises:
            QueueUnavailable: no answer.

        """
        given = {name: value for name, value in arguments.items() if value is not None}
        call = self._scripts.get(script)
        if call is None:  # making one hashes the script
            call = self._scripts[script] = self._redis.register_script(script)
        return await self.answer(call(args=[json.dumps(self._settings | given), *blobs]))

    async def ping(self) -> None:
        """Ask for a sign of life.

        Raises:
            QueueUnavailable: no answer.

        """
        await self.answer(self._redis.ping())

    async def answer(self, command: Awaitable[T]) -> T:
        """Wait for a command of the client's own.

        Raises:
            QueueUnavailable: no answer.

        """
        running = asyncio.ensure_future(command)
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        try:
            return await asyncio.shield(running)
        except (ConnectionError, TimeoutError, ReadOnlyError, OutOfMemoryError, OSError) as error:
            raise QueueUnavailable(str(error)) from error
        except ResponseError as error:
            if _AWAY.match(str(error)):
                raise QueueUnavailable(str(error)) from error
            raise


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))
