"""`halfbyte up`: redis, the API and workers as children of one process on one machine.

They are started in this order, each stage once the one before is ready, restarted when they die,
and stopped in reverse: workers finish or give back what they have, then the API, then redis.
"""

import secrets
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from client.answers import error_of
from client.child import python
from client.datadir import DataDir
from client.embedded import EmbeddedRedis
from client.environment import inherited
from client.errors import ClientError, UsageError
from client.fleet import worker_specs
from client.gpus import ALL
from client.signals import HeldSignals
from client.supervisor import Child, Spec, StartFailed, Supervisor
from client.terminal import plain, say

START_S = 120.0
"""How long a stage may take to be ready: importing torch on a busy machine is slow."""
POLL_S = 0.1
PROBE_S = 5.0
API_GRACE_S = 10.0
ABLE = ("idle", "busy")
UNFIT = "unhealthy"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to serve, and where. Without `redis_url` a redis is started; port 0 is any free port.

    A worker is started for each of `gpus`, at most `workers`; where there is no GPU as many as
    `workers`, or one.
    """

    data: Path
    host: str
    port: int
    redis_url: str | None
    workers: int | None = None
    gpus: str = ALL


class StopAsked(ClientError):
    """A signal asked us to stop before everything was ready."""

    exit_code = 130


class Local:
    """Everything that one `halfbyte up` runs."""

    def __init__(self, wanted: Wanted, data: DataDir, signals: HeldSignals) -> None:
        """Take over the directory and the signals; nothing is started yet."""
        self._wanted = wanted
        self._data = data
        self._signals = signals
        self._supervisor = Supervisor(data.logs)
        self._told_why = False
        # Where keys exist, looking for our own workers needs one: only we and the API know it.
        self._starter_key = secrets.token_hex(32)
        port = _free_port(wanted.host, wanted.port)
        self._port = port
        host = "127.0.0.1" if wanted.host == "0.0.0.0" else wanted.host
        self.url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def start(self) -> None:
        """Start all stages.

        Raises:
            StartFailed: a child ended, or was not ready in time.
            StopAsked: a signal came first.
            UsageError: a GPU that is named is not here.

        """
        say(f"starting; data and logs are in {self._data.path}")
        redis_url = self._wanted.redis_url or self._start_redis()
        specs = worker_specs(self._wanted.gpus, self._wanted.workers, redis_url)
        env = inherited(HALFBYTE_QUEUE_REDIS_URL=redis_url)
        arguments = ("--host", self._wanted.host, "--port", str(self._port))
        api_env = env | {"HALFBYTE_SERVICE_STARTER_KEY": self._starter_key}
        api = self._supervisor.start(
            Spec("api", python("service.main", *arguments), api_env, API_GRACE_S)
        )
        self._await(api, self._api_ready)
        say("api ready")
        workers = self._supervisor.start(*specs)
        if workers:
            self._await(workers, lambda: self._worker_ready(workers))
        self._data.note(self.url, redis_url)

    def wait(self, timeout_s: float) -> bool:
        """Keep everything alive for a while; True where a signal asks us to stop."""
        for line in self._supervisor.tend():
            say(line)
        return self._signals.wait(min(timeout_s, self._supervisor.next_due_s()))

    def stop(self) -> None:
        """Stop all stages in reverse."""
        for line in self._supervisor.stop(self._signals):
            say(line)

    def _start_redis(self) -> str:
        redis = EmbeddedRedis(self._data.path / "redis")
        self._await(self._supervisor.start(redis.spec), redis.listening)
        say("redis ready")
        return redis.url

    def _await(self, stage: Sequence[Child], ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + START_S
        while not ready():
            ended = [(each, how) for each in stage if (how := each.ended())]
            if len(ended) == len(stage):  # one GPU of several may be broken
                each, how = ended[0]
                raise StartFailed(each.spec.name, how, each.log)
            if time.monotonic() > deadline:
                raise StartFailed(stage[0].spec.name, "took too long", stage[0].log)
            if self._signals.wait(POLL_S):
                raise StopAsked("stopped before everything was ready")

    def _api_ready(self) -> bool:
        answer = self._get("/readyz")
        if answer is not None and not answer.is_success and not self._told_why:
            self._told_why = True
            say(f"api waits: {plain(str(error_of(answer)))}")
        return answer is not None and answer.is_success

    def _worker_ready(self, stage: Sequence[Child]) -> bool:
        """Whether one of the workers can judge; one of several GPUs may be broken or taken."""
        answer = self._get("/v1/workers")
        listed = answer.json()["workers"] if answer is not None and answer.is_success else ()
        by_pid = {worker["pid"]: worker for worker in listed}
        ours = [(each, by_pid[each.pid]) for each in stage if each.pid in by_pid]
        for _, worker in ours:
            if worker["state"] in ABLE:
                device = plain(worker["gpu"] or worker["device"])
                say(f"worker ready on {device}, sandbox level {worker['sandbox_level']}")
                return True
        unfit = [(each, worker) for each, worker in ours if worker["state"] == UNFIT]
        if unfit and len(unfit) + sum(each.ended() is not None for each in stage) == len(stage):
            each, worker = unfit[0]
            raise StartFailed(each.spec.name, f"can judge nothing: {worker['reason']}", each.log)
        return False

    def _get(self, path: str) -> httpx.Response | None:
        try:
            headers = {"Authorization": f"Bearer {self._starter_key}"}
            return httpx.get(self.url + path, headers=headers, timeout=PROBE_S, trust_env=False)
        except httpx.TransportError:
            return None


@contextmanager
def local(wanted: Wanted) -> Iterator[Local]:
    """Start everything, and stop it at the end, whatever happens in between.

    Raises:
        UsageError: the port or the data directory is taken or cannot be used.
        StartFailed: see Local.start.
        StopAsked: see Local.start.

    """
    with DataDir(wanted.data) as data, HeldSignals() as signals:
        everything = Local(wanted, data, signals)
        try:
            everything.start()
            yield everything
        finally:
            everything.stop()


def serve(wanted: Wanted) -> None:
    """Serve until a signal asks to stop; raises as `local` does."""
    with local(wanted) as everything:
        say(f"serving {everything.url} (API: {everything.url}/docs); Ctrl-C stops everything")
        while not everything.wait(60):
            pass
        say("stopping: a running job may take a while to end; Ctrl-C again stops at once")
    say("stopped")


def _free_port(host: str, port: int) -> int:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
            return int(probe.getsockname()[1])
    except OSError as error:
        raise UsageError(
            f"cannot serve on {host} port {port}: {error.strerror}; choose another --port or --host"
        ) from error
