"""The reaper of a service goes on whatever happens to it: without one, lost jobs hang."""

from contract.settings import QueueSettings
from tests.service.conftest import serving
from tests.service.workers import worker


async def test_the_reaper_survives_an_error_that_nobody_thought_of(
    queue_settings: QueueSettings, queue, redis, wait_until, caplog
):
    often = queue_settings.model_copy(update={"beat_s": 0.05, "lease_s": 0.5})
    async with serving(often) as http:
        await redis.set("halfbyte:leases", "no sorted set")
        await wait_until(lambda: "reaper failed" in caplog.text, "the reaper to fail")
        await redis.delete("halfbyte:leases")
        job = (await http.post("/v1/jobs", json={})).json()
        assert await queue.claim(worker(), wait_s=10)
        await redis.zadd("halfbyte:leases", {job["id"]: 0}, xx=True)

        async def queued() -> bool:
            return (await http.get(f"/v1/jobs/{job['id']}")).json()["state"] == "queued"

        await wait_until(queued, "the lost job to be put back")
