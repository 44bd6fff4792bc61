"""Wakes the tasks of this process when something that they wait for is published.

One connection a process, whatever the number of waiting tasks. Messages can be lost, and are while
Redis is away, so a bell only says "look again": every listener is rung at each (re)subscription,
and those who wait look again by themselves now and then.
"""

import asyncio
import contextlib
from collections.abc import Iterator

from redis.asyncio import Redis
from redis.exceptions import RedisError

POLL_S = 1.0
RETRY_S = 0.2


class Bell:
    """Listeners by name, and the task that rings them."""

    def __init__(self, redis: Redis, channel: str) -> None:
        """Listen on a channel once somebody listens to this bell."""
        self._redis = redis
        self._channel = channel
        self._listeners: dict[str, set[asyncio.Event]] = {}
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    @contextlib.contextmanager
    def listen(self, *names: str) -> Iterator[asyncio.Event]:
        """Give an event that is set whenever one of the names is rung."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._ring_on_messages())
        event = asyncio.Event()
        for name in names:
            self._listeners.setdefault(name, set()).add(event)
        try:
            yield event
        finally:
            for name in names:
                self._listeners[name].discard(event)
                if not self._listeners[name]:
                    del self._listeners[name]

    async def close(self) -> None:
        """Stop listening."""
        # The flag as well as the cancel: redis-py swallows a cancel that meets it while it writes.
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _ring_on_messages(self) -> None:
        while not self._closed:
            try:
                async with self._redis.pubsub() as subscription:
                    await subscription.subscribe(self._channel)
                    while not self._closed:
                        self._ring(await subscription.get_message(timeout=POLL_S))
            except (RedisError, OSError):
                await asyncio.sleep(RETRY_S)

    def _ring(self, message: dict[str, object] | None) -> None:
        if message is None:
            return
        if message["type"] == "message" and isinstance(data := message["data"], bytes):
            rung = self._listeners.get(data.decode(), set())
        else:
            rung = set().union(*self._listeners.values())
        for event in rung:
            event.set()


async def rung(event: asyncio.Event, timeout_s: float) -> bool:
    """Wait for an event and clear it; false if it was not set in time."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await event.wait()
        event.clear()
        return True
    return False
