"""Services on ports of their own, with a real queue behind them."""

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator

import httpx
import pytest
import uvicorn

from contract.keys import KeyStore, NewKey, Role
from contract.queue import JobQueue
from contract.settings import QueueSettings
from service.app import create_app
from service.settings import ServiceSettings
from tests.redis_server import RedisServer
from tests.service.popcorn_cli import PopcornCli


def _server(
    queue_settings: QueueSettings, settings: ServiceSettings | None, public: bool = False
) -> uvicorn.Server:
    app = create_app(settings or ServiceSettings(), queue_settings, public=public)
    return uvicorn.Server(
        uvicorn.Config(app, log_config=None, ws="none", timeout_graceful_shutdown=1)
    )


def _client(listener: socket.socket) -> httpx.AsyncClient:
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    return httpx.AsyncClient(base_url=url, timeout=30, limits=httpx.Limits(max_connections=None))


@contextlib.asynccontextmanager
async def serving(
    queue_settings: QueueSettings, settings: ServiceSettings | None = None, public: bool = False
) -> AsyncIterator[httpx.AsyncClient]:
    """Serve with settings of one's own, in this loop, and give a client."""
    server = _server(queue_settings, settings, public)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        running = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started:
            assert not running.done()
            await asyncio.sleep(0.005)
        try:
            async with _client(listener) as client:
                yield client
        finally:
            server.should_exit = True
            await running


@pytest.fixture(scope="package")
def listener(servers: Callable[[str], RedisServer]) -> Iterator[socket.socket]:
    """The socket of one service for all tests here: jobs are wiped after each."""
    server = _server(QueueSettings(redis_url=servers("valkey9").url), None)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        thread = threading.Thread(
            target=lambda: asyncio.run(server.serve(sockets=[listener])), name="service"
        )
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.005)
        yield listener
        server.should_exit = True
        thread.join()


@pytest.fixture
async def http(
    listener: socket.socket, redis_server: RedisServer
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the service with the settings it has by itself."""
    async with _client(listener) as client:
        yield client


class Keys:
    """Makes keys, and the headers that present them."""

    def __init__(self, store: KeyStore) -> None:
        self.store = store

    async def make(self, name: str, role: Role = Role.SUBMIT) -> tuple[NewKey, dict[str, str]]:
        made = await self.store.create(name, role)
        return made, {"Authorization": f"Bearer {made.token}"}


@pytest.fixture
def keys(queue: JobQueue) -> Keys:
    return Keys(KeyStore(queue.store))


@pytest.fixture
def cli(http: httpx.AsyncClient) -> PopcornCli:
    """The client of a service without keys, whose user has registered nowhere."""
    return PopcornCli(f"{str(http.base_url).rstrip('/')}/popcorn", cli_id="me")
