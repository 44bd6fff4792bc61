"""The reaper of a service goes on whatever happens to it: without one, lost jobs hang."""

from datetime import UTC, datetime

import pytest

from contract.contest import Contest, Moved
from contract.errors import QueueUnavailable
from contract.leaderboard import Leaderboards
from contract.settings import QueueSettings
from contract.windows import BoardWindow
from tests.contract.ranked import PROBLEM, ranked, standing
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


async def test_it_goes_on_with_a_change_of_a_window_that_was_broken_off(
    queue_settings, queue, wait_until, monkeypatch
):
    monkeypatch.setattr("contract.contest.QUIET_MS", 0)
    await ranked(queue, "ann", 10.0)

    async def killed(*_: object) -> Moved:
        raise QueueUnavailable("killed")

    over = BoardWindow(problem=PROBLEM, device="H200", closes_at=datetime(2026, 1, 1, tzinfo=UTC))
    with monkeypatch.context() as patch:
        patch.setattr(Contest, "_settle", killed)
        with pytest.raises(QueueUnavailable):
            await Contest(queue.store).set_window(over, "root")
    boards = Leaderboards(queue.store)
    assert len(await standing(boards)) == 1
    async with serving(queue_settings):

        async def settled() -> bool:
            return not await standing(boards)

        await wait_until(settled, "the result to count no more")
