"""The reaper of a service goes on whatever happens to it: without one, lost jobs hang."""

import pytest

from contract.settings import QueueSettings
from tests.redis_server import RedisServer
from tests.service.conftest import serving
from tests.service.workers import worker


@pytest.fixture
def queue_settings(redis_server: RedisServer) -> QueueSettings:
    """Keys of its own: the service of all other tests reaps too, and grants 15 s of lease."""
    return QueueSettings(redis_url=redis_server.url, prefix="often", beat_s=0.05, lease_s=0.5)


async def test_the_reaper_survives_an_error_that_nobody_thought_of(
    queue_settings, queue, redis, wait_until, caplog
):
    async with serving(queue_settings) as http:
        await redis.set("often:leases", "no sorted set")
        await wait_until(lambda: "reaper failed" in caplog.text, "the reaper to fail")
        await redis.delete("often:leases")
        job = (await http.post("/v1/jobs", json={})).json()
        assert await queue.claim(worker(), wait_s=10)
        await redis.zadd("often:leases", {job["id"]: 0}, xx=True)

        async def queued() -> bool:
            return (await http.get(f"/v1/jobs/{job['id']}")).json()["state"] == "queued"

        await wait_until(queued, "the lost job to be put back")
