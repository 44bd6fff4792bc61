"""The process: where it binds, how it starts, how it stops."""

import asyncio
import signal
import sys

import httpx
import pytest

from contract.keys import KeyStore, Role
from contract.queue import JobQueue
from contract.settings import QueueSettings
from service import main as service_main


@pytest.fixture
def served(monkeypatch) -> list[tuple[str, int]]:
    """Where the process would listen: it does not, here."""
    served = []
    monkeypatch.setattr(service_main, "log_to_stderr", lambda: None)

    def run(server: service_main.Server) -> None:
        served.append((server.config.host, server.config.port))
        server.started = True

    monkeypatch.setattr(service_main.Server, "run", run)
    return served


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "judge.lan"])
def test_without_keys_it_does_not_bind_where_strangers_are(
    host, capsys, served, redis_server, monkeypatch
):
    monkeypatch.setenv("HALFBYTE_QUEUE_REDIS_URL", redis_server.url)
    assert service_main.main(["--host", host]) == 2
    said = capsys.readouterr().err
    assert f"refused to bind {host}: there are no keys" in said
    for way_out in ("HALFBYTE_SERVICE_TRUSTED_NETWORK=true", "halfbyte admin key create"):
        assert way_out in said
    assert served == []


def test_it_does_not_bind_there_either_where_nobody_can_say_whether_there_are_keys(
    capsys, served, monkeypatch, unused_tcp_port
):
    monkeypatch.setenv("HALFBYTE_QUEUE_REDIS_URL", f"redis://127.0.0.1:{unused_tcp_port}")
    assert service_main.main(["--host", "0.0.0.0"]) == 2
    assert "whether there are keys cannot be told" in capsys.readouterr().err
    assert served == []


def test_with_a_key_it_binds_anywhere(served, queue_settings, monkeypatch):
    asyncio.run(make_key(queue_settings))
    monkeypatch.setenv("HALFBYTE_QUEUE_REDIS_URL", queue_settings.redis_url)
    assert service_main.main(["--host", "0.0.0.0", "--port", "8123"]) == 0
    assert served == [("0.0.0.0", 8123)]


def test_idle_connections_outlive_those_of_clients(monkeypatch):
    kept_s = []
    monkeypatch.setattr(service_main, "log_to_stderr", lambda: None)
    monkeypatch.setattr(
        service_main.Server, "run", lambda server: kept_s.append(server.config.timeout_keep_alive)
    )
    service_main.main([])
    assert kept_s[0] > 90  # hyper's pool, which popcorn-cli has


async def make_key(queue_settings: QueueSettings) -> None:
    queue = JobQueue.connect(queue_settings)
    await KeyStore(queue.store).create("root", Role.ADMIN)
    await queue.close()


@pytest.mark.parametrize(
    ("host", "trusted"), [("127.0.0.1", "false"), ("localhost", "false"), ("0.0.0.0", "true")]
)
def test_it_binds_loopback_or_what_is_said_to_be_trusted(host, trusted, monkeypatch, served):
    monkeypatch.setenv("HALFBYTE_SERVICE_TRUSTED_NETWORK", trusted)
    assert service_main.main(["--host", host, "--port", "8123"]) == 0
    assert served == [(host, 8123)]


async def test_a_process_serves_until_it_is_told_to_stop(
    queue_settings, unused_tcp_port, wait_until
):
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "service.main", "--port", str(unused_tcp_port)),
        env={"HALFBYTE_QUEUE_REDIS_URL": queue_settings.redis_url, "PATH": ""},
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{unused_tcp_port}") as http:

            async def up() -> bool:
                assert process.returncode is None
                try:
                    return (await http.get("/readyz")).status_code == 200
                except httpx.TransportError:
                    return False

            await wait_until(up, "the service to answer")
            job = (await http.post("/v1/jobs", json={})).json()
            waiting = [
                asyncio.create_task(http.get(f"/v1/jobs/{job['id']}{rest}", timeout=60))
                for rest in ("?wait=60", "/events")
            ]

            async def inside() -> bool:
                return "requests_open 3.0" in (await http.get("/metrics")).text

            await wait_until(inside, "both to be waiting")
            process.send_signal(signal.SIGTERM)
            looked, listened = await asyncio.gather(*waiting)
        assert (looked.status_code, looked.json()["state"]) == (200, "queued")
        assert '{"state": "queued"}' in listened.text
        _, said = await asyncio.wait_for(process.communicate(), 30)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    # uvicorn ends with the signal that stopped it, once everything is closed
    assert process.returncode in (0, -signal.SIGTERM)
    lines = said.decode().splitlines()
    (accepted,) = [line for line in lines if "job accepted" in line]
    assert f'job="{job["id"]}"' in accepted
    assert any('request method="POST" path="/v1/jobs" status=202' in line for line in lines)
    assert not any("Traceback" in line for line in lines)
