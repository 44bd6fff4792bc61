"""Real processes that tests kill, freeze and start again, and what they leave behind."""

import os
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

from client.child import python, start
from tests.redis_server import SERVERS
from tests.worker.judge_harness import descendants
from worker.sandbox.cgroup_root import find_control_groups
from worker.sandbox.confinement import SandboxUnavailable

WORKER = python("worker.main")
STAND_IN_WORKER = (sys.executable, "-P", str(Path(__file__).with_name("chaos_worker.py")))
REDIS = ("--save", "", "--appendonly", "yes", "--appendfsync", "always", "--protected-mode", "no")
KILLED_S = 20


def redis(
    port: int, folder: Path, bind: str = "127.0.0.1", kind: str = "valkey9"
) -> tuple[str, ...]:
    """A server that forgets nothing it has confirmed."""
    place = ("--port", str(port), "--bind", bind, "--dir", str(folder))
    return (SERVERS[kind], *place, *REDIS)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def api(port: int) -> tuple[str, ...]:
    return python("service.main", "--port", str(port))


def environment(
    redis_url: str, *, lease_s: float, beat_s: float, first_uid: int, **more: str
) -> dict[str, str]:
    """What every process of a trial is started with; `first_uid` tells its candidates apart."""
    return {
        "PATH": os.environ["PATH"],
        "HALFBYTE_QUEUE_REDIS_URL": redis_url,
        "HALFBYTE_QUEUE_LEASE_S": str(lease_s),
        "HALFBYTE_QUEUE_BEAT_S": str(beat_s),
        "HALFBYTE_WORKER_SANDBOX__FIRST_UID": str(first_uid),
        **more,
    }


@dataclass(frozen=True)
class Seen:
    """A process, told apart from a later one of the same number."""

    pid: int
    started: str

    @property
    def alive(self) -> bool:
        found = look_at(self.pid)
        return found is not None and found == self and not is_zombie(self.pid)


def look_at(pid: int) -> Seen | None:
    with suppress(OSError):
        return Seen(pid, _stat(pid)[19])
    return None


def is_zombie(pid: int) -> bool:
    try:
        return _stat(pid)[0] == "Z"
    except OSError:
        return True


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def tree(pid: int) -> set[Seen]:
    """All processes below `pid`."""
    return {seen for child in descendants(pid) if (seen := look_at(child)) is not None}


def named(word: str) -> list[int]:
    """The processes that gave themselves this name."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and (entry / "comm").read_text().strip() == word:
                found.append(int(entry.name))
    return found


def control_groups(first_uid: int, uids: int = 64) -> list[str]:
    """The control groups of candidates that are left."""
    try:
        groups = find_control_groups()
    except SandboxUnavailable:
        return []
    return [
        str(folder)
        for uid in range(first_uid, first_uid + uids)
        for folder in groups.named(f"halfbyte-{uid}").folders
        if folder.exists()
    ]


class Part:
    """One process after another of the same command."""

    def __init__(
        self, name: str, argv: tuple[str, ...], env: Mapping[str, str], folder: Path
    ) -> None:
        self.name = name
        self.argv = argv
        self.env = env
        self.log = folder / f"{name}.log"
        self.frozen: tuple[Seen, ...] = ()
        self._process: Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """It dies with the thread that calls this."""
        self._process = start(self.argv, self.env, self.log)
        self.frozen = ()

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait(KILLED_S)

    def freeze(self, *, with_children: bool = False) -> None:
        """Stop the process as the scheduler sees it; its children only where asked to."""
        frozen = {look_at(self.pid)} | (tree(self.pid) if with_children else set())
        self.frozen = tuple(seen for seen in frozen if seen is not None)
        self._signal_frozen(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal_frozen(signal.SIGCONT)
        self.frozen = ()

    def _signal_frozen(self, number: signal.Signals) -> None:
        for seen in self.frozen:
            with suppress(ProcessLookupError):
                if seen.alive:
                    os.kill(seen.pid, number)

    def ask_to_end(self) -> None:
        assert self._process is not None
        self._process.terminate()

    def exit_code(self, timeout_s: float) -> int:
        assert self._process is not None
        return self._process.wait(timeout_s)
