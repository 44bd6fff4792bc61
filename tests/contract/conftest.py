"""Every test of the contract that wants a server runs on the newest and the oldest we support."""

from collections.abc import Awaitable, Callable, Sequence

import pytest
from redis.asyncio import Redis

from contract.job import Lease
from contract.queue import JobQueue
from tests.conftest import WaitUntil
from tests.redis_server import SERVERS, RedisServer


@pytest.fixture(params=sorted(SERVERS))
def redis_server(
    request: pytest.FixtureRequest, servers: Callable[[str], RedisServer]
) -> RedisServer:
    return servers(request.param)


@pytest.fixture
async def only_the_bell(
    queue: JobQueue, redis: Redis, monkeypatch: pytest.MonkeyPatch, wait_until: WaitUntil
) -> None:
    """Let nothing wake those who wait but a message: they do not look again by themselves."""
    monkeypatch.setattr("contract.queue.LOOK_AGAIN_S", 3600)
    monkeypatch.setattr("contract.queue.WAITERS_LOOK_AGAIN_S", 3600)
    with queue._bell.listen("ready") as ready:

        async def heard() -> bool:
            await redis.publish("halfbyte:bell", "ready")
            return ready.is_set()

        await wait_until(heard, "the subscription")


@pytest.fixture
def reap_expired(queue: JobQueue, redis: Redis) -> Callable[..., Awaitable[Sequence[str]]]:
    """Let leases expire, as if their time had passed under the eyes of a reaper, and reap."""

    async def reap(*leases: Lease) -> Sequence[str]:
        for lease in leases:
            await redis.zadd("halfbyte:leases", {lease.job.id: 0}, xx=True)
        await redis.set("halfbyte:watched", 1, ex=60)
        await redis.delete("halfbyte:quiet")
        return await queue.reap()

    return reap
