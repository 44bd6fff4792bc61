"""`halfbyte up` as a process, with stand-ins for service and worker and the real valkey."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest
import redis

from client.supervisor import AGAIN_S
from tests.client.conftest import HALFBYTE
from tests.client.processes import alive, until

KINDS = {"redis": b"valkey", "api": b"service.main", "worker": b"worker.main"}
STAND_INS = str(Path(__file__).parent / "stand_ins")


class Up:
    """One `halfbyte up`, and what it says."""

    def __init__(self, environment: Mapping[str, str], here: Path) -> None:
        self.data = here / "data"
        self._here = here
        self._environment = {**environment, "PYTHONPATH": STAND_INS, "STAND_IN_DIR": str(here)}
        self.started: list[subprocess.Popen[str]] = []

    def start(self, *options: str, **extra: str) -> "subprocess.Popen[str]":
        command = [HALFBYTE, "up", "--port", "0", "--data", str(self.data), *options]
        process = subprocess.Popen(
            command,
            env={**self._environment, **extra},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def serving(self, *options: str, **extra: str) -> tuple["subprocess.Popen[str]", list[str]]:
        process = self.start(*options, **extra)
        said = []
        for line in process.stdout:
            said.append(line.rstrip("\n"))
            if line.startswith("serving "):
                return process, said
        raise AssertionError(process.stderr.read())

    def pids(self) -> dict[str, int]:
        """The children by kind, as far as they have become what they are to be."""
        (parent,) = (each.pid for each in self.started if each.poll() is None)
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        found = {}
        for pid in children:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            for name, mark in KINDS.items():
                if mark in command and b"client.child" not in command:
                    found[name] = int(pid)
        return found

    def redis_url(self) -> str:
        return json.loads((self._here / "api.json").read_text())[1]


@pytest.fixture
def up(environment, tmp_path):
    running = Up(environment, tmp_path)
    yield running
    for process in running.started:
        process.kill()
        process.communicate()


def ended(process: "subprocess.Popen[str]", timeout_s: float = 40) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=timeout_s)
    return process.returncode, out, err


def test_it_starts_everything_says_where_it_serves_and_stops_when_asked(up):
    process, said = up.serving("--workers", "2")
    assert said[:3] == [f"starting; data and logs are in {up.data}", "redis ready", "api ready"]
    assert said[3] == "worker ready on cpu, sandbox level 2"
    url = said[4].split()[1]
    assert httpx.get(f"{url}/readyz", trust_env=False).is_success
    with redis.Redis.from_url(up.redis_url()) as client:
        assert client.config_get("appendfsync") == {"appendfsync": "always"}
    children = up.pids().values()
    process.terminate()
    code, out, err = ended(process)
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "stopped"
    assert not any(map(alive, children))
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/readyz", trust_env=False)


def test_one_worker_of_several_that_does_not_start_holds_up_nobody_and_is_started_again(up):
    process, said = up.serving("--workers", "2", STAND_IN_FIRST_WORKER_ENDS="1")
    assert "worker ready on cpu, sandbox level 2" in said
    assert " ended with exit code 1; starting it again in " in process.stdout.readline()
    assert process.stdout.readline().endswith(" started again\n")


@pytest.mark.parametrize("more", [{}, {"STAND_IN_FIRST_WORKER_ENDS": "1"}])
def test_workers_that_can_all_judge_nothing_are_said_at_once_with_the_reason(up, more):
    process = up.start("--workers", "2", STAND_IN_WORKER_UNFIT="1", **more)
    code, out, err = ended(process)
    assert code == 3
    assert "did not start: it can judge nothing: it multiplies wrongly" in err
    assert "serving" not in out


@pytest.mark.parametrize("name", list(KINDS))
def test_a_killed_child_comes_back(up, name):
    process, _ = up.serving()
    pid = up.pids()[name]
    os.kill(pid, signal.SIGKILL)
    assert " was ended by SIGKILL; starting it again in " in process.stdout.readline()
    assert process.stdout.readline().endswith(" started again\n")
    until(lambda: up.pids().get(name, pid) != pid, f"{name} is back")


def test_nothing_survives_a_kill_and_the_next_one_starts_at_once(up):
    process, _ = up.serving()
    with redis.Redis.from_url(up.redis_url()) as client:
        client.set("job", "accepted")
    children = up.pids().values()
    process.kill()
    process.wait()
    until(lambda: not any(map(alive, children)), "all children die")
    up.serving()
    with redis.Redis.from_url(up.redis_url()) as client:
        assert client.get("job") == b"accepted"


def test_a_second_one_with_the_same_data_is_refused_in_words(up):
    process, said = up.serving()
    code, out, err = ended(up.start())
    assert (code, out) == (2, "")
    url = said[-1].split()[1]
    assert f"runs already with its data in {up.data}: process {process.pid} serves {url}" in err


def test_a_second_one_on_the_same_port_is_refused_in_words(up):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, out, err = ended(up.start("--port", port))
    assert (code, out) == (2, "")
    assert err == (
        f"halfbyte: cannot serve on 127.0.0.1 port {port}: Address already in use; "
        "choose another --port or --host\n"
    )


def test_a_child_that_does_not_start_is_named_with_the_end_of_its_log(up):
    code, _, err = ended(up.start(STAND_IN_API_FAILS="1"))
    assert code == 3
    assert err.splitlines() == [
        "halfbyte: api did not start: it ended with exit code 1",
        f"the end of {up.data}/logs/api.log:",
        r"no luck \x1b[2J today",
    ]


def test_a_worker_that_stays_is_killed_when_asked_twice(up):
    process, _ = up.serving(STAND_IN_WORKER_STAYS="1")
    worker = up.pids()["worker"]
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline().startswith("stopping: ")
    began = time.monotonic()
    until(lambda: time.monotonic() > began + AGAIN_S, "a second signal means something")
    process.send_signal(signal.SIGINT)
    code, out, _ = ended(process)
    assert (code, out) == (0, "stopping at once\nstopped\n")
    assert not alive(worker)


def test_another_redis_is_used_where_one_is_named(up):
    up.serving("--redis", "redis://127.0.0.1:1/5", "--workers", "0")
    assert up.redis_url() == "redis://127.0.0.1:1/5"
    assert not (up.data / "redis").exists()


def test_an_api_that_waits_for_its_redis_says_so(up):
    _, said = up.serving("--workers", "0", STAND_IN_API_WAITS="1")
    waits = r"api waits: no queue \x1b[2J yet (HTTP 503)"
    assert said[1:4] == ["redis ready", waits, "api ready"]


def test_one_more_worker_finds_the_redis_of_a_running_up(up, environment):
    up.serving("--workers", "0")
    command = [HALFBYTE, "worker", "--data", str(up.data)]
    worker = subprocess.Popen(command, env={**up._environment})
    path = f"/proc/{worker.pid}/environ"
    wanted = f"HALFBYTE_QUEUE_REDIS_URL={up.redis_url()}\0".encode()
    try:
        until(lambda: wanted in Path(path).read_bytes(), "it became a worker of this redis")
    finally:
        worker.kill()
        worker.wait()


def test_a_worker_without_a_redis_is_a_usage_error(halfbyte, tmp_path):
    done = halfbyte("worker", "--data", str(tmp_path))
    assert done.returncode == 2
    assert f"no halfbyte up runs with its data in {tmp_path}; name its --data, or a" in done.stderr
