"""deploy/redis/start.sh: a backup brings back all that counts, and nothing is lost by trying."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from contract.errors import JobNotFound, LeaseLost
from contract.job import JobState
from contract.keys import KeyStore, Role
from contract.leaderboard import Leaderboards
from contract.queue import JobQueue
from contract.settings import QueueSettings
from tests.conftest import WaitUntil
from tests.contract.examples import passed, submission, worker
from tests.contract.ranked import PROBLEM, ranked
from tests.deploy import DEPLOY
from tests.redis_server import SERVERS, RedisServer
from tests.service.conftest import serving

OF_A_PIPE = b"0123456789abcdef0123456789abcdef01234567"
"""What redis-cli leaves behind an RDB that it wrote into a pipe: the mark of the end."""


@pytest.fixture(params=sorted(set(SERVERS) - {"redis6"}))  # whose AOF is of another form
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RedisServer]:
    """A server as the image starts it: by the script, in its data folder."""
    programs, data = tmp_path / "bin", tmp_path / "data"
    programs.mkdir()
    data.mkdir()
    for name in ("redis-server", "redis-check-rdb"):  # one program under two names, as in the image
        (programs / name).symlink_to(SERVERS[request.param])
    start = tmp_path / "start"
    start.write_text(
        f'#!/bin/sh\ncd {data}\nPATH={programs}:$PATH exec sh {DEPLOY}/redis/start.sh "$@"\n'
    )
    start.chmod(0o755)
    server = RedisServer(str(start), data, durable=True).start()
    yield server
    server.end()


def data_of(server: RedisServer) -> Path:
    with redis.Redis.from_url(server.url, decode_responses=True) as client:
        return Path(client.config_get("dir")["dir"])


def backup(server: RedisServer) -> bytes:
    with redis.Redis.from_url(server.url) as client:
        client.save()
    return (data_of(server) / "dump.rdb").read_bytes() + OF_A_PIPE


def restart_on(server: RedisServer, backup: bytes) -> Path:
    """Put a backup down and restart, as the guide says; return the data folder."""
    data = data_of(server)
    (data / "restore.rdb").write_bytes(backup)
    server.end(signal.SIGTERM)
    server.start()
    return data


async def test_jobs_keys_and_places_survive_and_a_running_job_is_taken_up_again(
    server: RedisServer, wait_until: WaitUntil
) -> None:
    queue = JobQueue.connect(QueueSettings(redis_url=server.url, lease_s=1, beat_s=0.2))
    keys, boards = KeyStore(queue.store), Leaderboards(queue.store)
    key, token = await keys.create("ann", Role.SUBMIT)
    first = await ranked(queue, "ann", 12.5)
    running = await queue.submit(submission(), "bob")
    lost = await queue.claim(worker(), 0)
    saved = backup(server)
    later = await queue.submit(submission(), "bob")

    data = restart_on(server, saved)

    assert (await queue.get(first.id)).verdict.score.geomean_us == 12.5
    assert await queue.source(first.id) == b"x = 1\n"
    assert (await keys.holder(token)).id == key.id
    [entry] = (await boards.page(PROBLEM, "H200")).entries
    assert (entry.owner, entry.job) == ("ann", first.id)
    with pytest.raises(JobNotFound):
        await queue.get(later.id)

    assert (await queue.get(running.id)).state is JobState.RUNNING
    await wait_until(queue.reap, "the lease of a worker that knows of nothing")
    again = await queue.claim(worker("w2"), 0)
    assert (again.job.id, again.job.attempts) == (running.id, 2)
    with pytest.raises(LeaseLost):
        await queue.finish(lost, passed())
    await queue.finish(again, passed())

    server.end(signal.SIGKILL)  # what came after the backup is as durable as ever
    server.start()
    assert (await queue.get(running.id)).state is JobState.FINISHED
    await queue.close()
    assert not (data / "restore.rdb").exists()
    assert len(list(data.glob("appendonlydir.before-*"))) == 1


async def test_an_api_goes_on_and_shows_what_is_there_again(
    server: RedisServer, wait_until: WaitUntil
) -> None:
    settings = QueueSettings(redis_url=server.url)
    async with serving(settings) as http:
        kept = (await http.post("/v1/jobs", json={})).json()["id"]
        saved = backup(server)
        later = (await http.post("/v1/jobs", json={})).json()["id"]
        restart_on(server, saved)

        async def ready() -> bool:
            return (await http.get("/readyz")).status_code == 200

        await wait_until(ready, "the API to find Redis again")
        assert (await http.get(f"/v1/jobs/{kept}")).json()["state"] == "queued"
        assert (await http.get(f"/v1/jobs/{later}")).status_code == 404
        assert (await http.post("/v1/jobs", json={})).status_code == 202


def test_half_a_backup_is_refused_and_the_old_data_are_served(server: RedisServer) -> None:
    with redis.Redis.from_url(server.url, decode_responses=True) as client:
        client.set("kept", "1")
        whole = backup(server).removesuffix(OF_A_PIPE)
        data = restart_on(server, whole[: len(whole) // 2])
        assert client.get("kept") == "1"
    assert (data / "refused.rdb").exists()
    assert not (data / "restore.rdb").exists()
