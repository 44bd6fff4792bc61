"""The backend of examples/leaderboard, as a process of its own beside a live service."""

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx
import pytest

from contract.keys import Role
from contract.queue import JobQueue
from contract.results import Results
from service.settings import ServiceSettings
from tests.contract.ranked import PROBLEM, ranked, timed
from tests.redis_server import RedisServer
from tests.service.conftest import serving

PROGRAM = Path(__file__).parents[2] / "examples" / "leaderboard" / "backend.py"
QUICK = ServiceSettings(callback_private=True, callback_first_delay_s=0.02)


@pytest.fixture
def redis_server(servers: Callable[[str], RedisServer]) -> RedisServer:
    """Not the one of the service that other tests share: it would take what is due here."""
    return servers("redis6")


@contextlib.asynccontextmanager
async def backend(url: str, path: Path, key: str, secret: str) -> AsyncIterator[httpx.AsyncClient]:
    """Run the program, and give a client of it."""
    env = os.environ | {"HALFBYTE_URL": url, "HALFBYTE_KEY": key, "WEBHOOK_SECRET": secret}
    process = await asyncio.create_subprocess_exec(
        sys.executable, PROGRAM, path, "0", env=env, stdout=subprocess.PIPE
    )
    try:
        address = (await process.stdout.readline()).decode().strip()
        async with httpx.AsyncClient(base_url=address) as client:
            yield client
    finally:
        process.kill()
        await process.wait()


class Contest:
    """A service with a webhook, and what two leaderboards say of it."""

    def __init__(self, http: httpx.AsyncClient, root: dict[str, str], wait_until) -> None:
        self._http = http
        self._root = root
        self._wait_until = wait_until

    async def set_webhook(self, theirs: httpx.AsyncClient) -> None:
        hook = {"url": str(theirs.base_url.join("/hook"))}
        set_ = await self._http.put("/v1/ranked/webhook", json=hook, headers=self._root)
        assert set_.status_code == 200

    async def set_window(self, window: dict[str, str]) -> None:
        board = f"/v1/leaderboards/{PROBLEM}/window?device=H200"
        set_ = await self._http.put(board, json=window, headers=self._root)
        assert set_.status_code == 200

    async def boards_are_the_same(self, theirs: httpx.AsyncClient) -> None:
        ours = f"/v1/leaderboards/{PROBLEM}?device=H200"
        entries = (await self._http.get(ours, headers=self._root)).json()["entries"]
        names = ("rank", "owner", "geomean_us", "job")
        wanted = [{name: entry[name] for name in names} for entry in entries]

        async def same() -> bool:
            return (await theirs.get(f"/{PROBLEM}/H200")).json() == wanted

        await self._wait_until(same, "the backend to have our board")


async def test_a_backend_elsewhere_has_our_board_whatever_happens_to_it_and_to_us(
    queue_settings, keys, redis, wait_until, tmp_path
):
    queue = JobQueue.connect(queue_settings.model_copy(update={"results_kept": 3}))
    _, root = await keys.make("root", Role.ADMIN)
    reader, _ = await keys.make("board", Role.READ)
    secret = await keys.store.callback_secret("root")
    results = Results(queue.store)
    async with serving(queue_settings, QUICK) as http:
        contest = Contest(http, root, wait_until)
        program = (str(http.base_url), tmp_path / "results.db", reader.token, secret)
        async with backend(*program) as theirs:
            await contest.set_webhook(theirs)
            cheat = await ranked(queue, "ann", 1.0)
            for owner, score in (("bob", 5.0), ("ann", 5.0), ("bob", 1 / 3), ("cat", 5.0)):
                await ranked(queue, owner, score)
            await ranked(queue, "dan", timed(0.5).model_copy(update={"emulated": True}))
            await contest.boards_are_the_same(theirs)
            for decide in (results.disqualify, results.reinstate, results.delete):
                await decide(cheat.id, "a trial", "root")
                await contest.boards_are_the_same(theirs)
            # The slowest of many goes; without the others nothing of it may stand again.
            fast = [await ranked(queue, "eve", score) for score in (4.0, 3.0, 2.0, 1.0)]
            for job in fast[1:]:
                await results.disqualify(job.id, "a trial", "root")
                await contest.boards_are_the_same(theirs)
            stranger = await theirs.post("/hook", content=b"{}", headers={"webhook-id": "x"})
            assert stranger.status_code == 401
            await contest.set_window({"closes_at": "2026-01-01T00:00:00Z"})
            await contest.boards_are_the_same(theirs)
            await contest.set_window({"closes_at": "2099-01-01T00:00:00Z"})
            await contest.boards_are_the_same(theirs)
        # It was away for longer than the feed is kept.
        await results.reinstate(fast[2].id, "a trial", "root")
        await ranked(queue, "bob", 0.1)
        await redis.xtrim("halfbyte:ranked", maxlen=1, approximate=False)
        async with backend(*program) as theirs:
            await contest.boards_are_the_same(theirs)
        # The service lost its newest entries, and what they were about.
        await results.delete(cheat.id, "again", "root")
        await redis.delete("halfbyte:ranked")
        await redis.set("halfbyte:ranked_number", 2)
        async with backend(*program) as theirs:
            await contest.boards_are_the_same(theirs)
            await contest.set_webhook(theirs)
            await ranked(queue, "ann", 0.01)
            await contest.boards_are_the_same(theirs)
    await queue.close()


def test_without_what_it_needs_it_says_how_it_is_started() -> None:
    done = subprocess.run(
        [sys.executable, PROGRAM], env={}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "python examples/leaderboard/backend.py results.db 9000" in done.stderr
    assert "Traceback" not in done.stderr
