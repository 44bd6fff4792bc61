"""The real server of the wheel, as `halfbyte up` starts it."""

import os
import signal
import stat

import pytest
import redis

from client.embedded import DataDirTooLong, EmbeddedRedis
from client.errors import UsageError
from client.signals import HeldSignals
from client.supervisor import Supervisor
from tests.client.processes import until


@pytest.fixture
def started(tmp_path):
    directory = tmp_path / 'a "b" c'
    directory.mkdir()
    embedded = EmbeddedRedis(directory / "redis")
    with HeldSignals() as signals:
        children = Supervisor(tmp_path)
        (child,) = children.start(embedded.spec)
        until(embedded.listening, "the server listens")
        yield embedded, child, children
        list(children.stop(signals))


def test_it_asks_for_the_password_and_listens_on_no_port(started):
    embedded, child, _ = started
    with redis.Redis.from_url(embedded.url) as client:
        assert client.ping()
        assert client.config_get("port") == {"port": "0"}
    secret = embedded.url.partition(":")[2].partition("@")[0].removeprefix("//:")
    assert len(secret) == 64
    with (
        redis.Redis.from_url(embedded.url.replace(f":{secret}@", "")) as stranger,
        pytest.raises(redis.AuthenticationError),
    ):
        stranger.ping()
    with open(f"/proc/{child.pid}/cmdline") as command:
        assert secret not in command.read()


def test_nobody_else_can_read_its_folder_or_its_password(started):
    embedded, _, _ = started
    folder = embedded.spec.argv[1].rpartition("/")[0]
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(embedded.spec.argv[1]).st_mode) == 0o600


def test_what_was_answered_survives_a_kill_and_a_restart_at_the_same_address(started):
    embedded, child, children = started
    with redis.Redis.from_url(embedded.url) as client:
        client.set("job", "accepted")
    os.kill(child.pid, signal.SIGKILL)
    until(lambda: list(children.tend()) == ["redis started again"], "it is restarted")
    until(embedded.listening, "the server listens again")
    with redis.Redis.from_url(embedded.url) as client:
        assert until(lambda: client.get("job"), "data are loaded") == b"accepted"


def test_a_machine_that_the_wheel_has_no_server_for_is_told_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(UsageError, match=r"name one with --redis .*riscv64"):
        _ = EmbeddedRedis(tmp_path / "redis").spec


def test_a_path_that_is_too_long_for_a_socket_is_refused_in_words(tmp_path):
    with pytest.raises(DataDirTooLong, match="data directory's path is too long"):
        EmbeddedRedis(tmp_path / ("x" * 120))
    assert not (tmp_path / ("x" * 120)).exists()
