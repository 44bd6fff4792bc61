"""What all tests share: a Redis server a test process, a queue on it, and waiting for conditions.

Tests that ask for none of it start no server.
"""

import asyncio
import inspect
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import redis
from hypothesis import settings
from redis.asyncio import Redis

from contract.queue import JobQueue
from contract.settings import QueueSettings
from contract.store import connect

if TYPE_CHECKING:
    from tests.redis_server import RedisServer


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], "RedisServer"]]:
    """The servers shared by the tests of one process, each started when it is first asked for."""
    # The servers are packages that a GPU machine, where tests need none, may not have.
    from tests.redis_server import SERVERS, RedisServer  # noqa: PLC0415

    started: dict[str, RedisServer] = {}

    def of_kind(kind: str) -> RedisServer:
        if kind not in started:
            started[kind] = RedisServer(SERVERS[kind], tmp_path_factory.mktemp(kind)).start()
        return started[kind]

    yield of_kind
    for server in started.values():
        server.end()


@pytest.fixture
def redis_server(servers: Callable[[str], "RedisServer"]) -> "RedisServer":
    """A server whose data are wiped after every test."""
    return servers("valkey9")


@pytest.fixture
def queue_settings(redis_server: "RedisServer") -> QueueSettings:
    return QueueSettings(redis_url=redis_server.url)


@pytest.fixture
async def queue(queue_settings: QueueSettings) -> AsyncIterator[JobQueue]:
    queue = JobQueue.connect(queue_settings)
    yield queue
    await queue.close()


@pytest.fixture(name="redis")
async def client_of_redis(redis_server: "RedisServer") -> AsyncIterator[Redis]:
    """A client for looking behind the queue; answers are bytes."""
    async with connect(redis_server.url) as client:
        yield client


@pytest.fixture(autouse=True)
def no_key_is_left_for_ever(request: pytest.FixtureRequest) -> Iterator[None]:
    """After every test each key has a TTL, or may be permanent."""
    if "redis_server" not in request.fixturenames:
        yield
        return
    from tests.redis_server import leaked_keys  # noqa: PLC0415

    server = request.getfixturevalue("redis_server")
    yield
    with redis.Redis.from_url(server.url, decode_responses=True) as client:
        leaked = leaked_keys(client)
        client.flushall()
    assert not leaked


# Before torch is imported. Threads of test processes that share the cores wait for one another,
# which takes more time than all the computing.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# An example that takes long on a busy machine is no failure: tests have a limit of their own.
settings.register_profile("halfbyte", deadline=None)
settings.load_profile("halfbyte")

FIRST = ("system", "worker", "docker", "kernels", "client")
"""Folders in which tests take long: so the last ones are short, and no process is left alone."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep folders together, since fixtures that take seconds live as long as their folder."""

    def place(item: pytest.Item) -> tuple[int, str]:
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        return (FIRST.index(folder) if folder in FIRST else len(FIRST), folder)

    items.sort(key=place)


def pytest_xdist_auto_num_workers() -> int:
    """Three for two cores: half of the suite's time is waiting for children and for Redis."""
    return max(2, (os.cpu_count() or 2) * 3 // 2)


WaitUntil = Callable[..., Awaitable[Any]]


@pytest.fixture
def wait_until() -> WaitUntil:
    """Wait until a function, plain or async, returns something true, and return that."""

    async def wait(
        predicate: Callable[[], Any], description: str = "the condition", timeout_s: float = 20
    ) -> Any:
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            value = predicate()
            if inspect.isawaitable(value):
                value = await value
            if value:
                return value
            await asyncio.sleep(0.01)
        raise AssertionError(f"waited {timeout_s} s in vain for {description}")

    return wait
