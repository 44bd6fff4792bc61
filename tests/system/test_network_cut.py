"""Two workers in network namespaces of their own, with addresses of their own, and one Redis.

Workers, leases and connections are real; the judge is the stand-in of chaos_judge.py, since nothing
of a network reaches a judge.
"""

import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from contract.errors import QueueUnavailable
from contract.job import Job, JobState, WorkerInfo
from contract.queue import JobQueue
from contract.settings import QueueSettings
from contract.submission import Mode, Submission
from contract.verdict import Passed
from kernels.problem import Case
from tests.conftest import WaitUntil
from tests.system.chaos_clients import source
from tests.system.chaos_processes import (
    STAND_IN_WORKER,
    Part,
    control_groups,
    environment,
    redis,
)

LEASE_S, BEAT_S = 5.0, 0.5
FIRST_UID = 62_200
PORT = 6379
NET = f"10.213.{os.getpid() % 250}"
TAG = f"hb{os.getpid() % 100_000}"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@dataclass(frozen=True)
class Place:
    """A namespace, and the end of its cable that is here."""

    name: str
    address: str

    @property
    def cable(self) -> str:
        return f"{self.name}v"

    def make(self, bridge: str) -> None:
        inside = ("ip", "-n", self.name)
        ip("netns", "add", self.name)
        ip("link", "add", self.cable, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        ip("link", "set", self.cable, "master", bridge, "up")
        for words in (
            ("address", "add", f"{self.address}/24", "dev", "eth0"),
            ("link", "set", "eth0", "up"),
            ("link", "set", "lo", "up"),
        ):
            subprocess.run([*inside, *words], check=True, capture_output=True)

    def command(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """Run a command in there; all but the network is ours."""
        return (str(shutil.which("nsenter")), f"--net=/run/netns/{self.name}", *argv)

    def cut(self) -> None:
        ip("link", "set", self.cable, "down")

    def heal(self) -> None:
        ip("link", "set", self.cable, "up")


@pytest.fixture
def places() -> Iterator[list[Place]]:
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    missing = [tool for tool in ("ip", "nsenter") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"no {missing[0]} on this machine (iproute2, util-linux)")
    bridge = f"{TAG}br"
    made = [Place(f"{TAG}a", f"{NET}.2"), Place(f"{TAG}b", f"{NET}.3")]
    try:
        try:
            ip("link", "add", bridge, "type", "bridge")
            ip("address", "add", f"{NET}.1/24", "dev", bridge)
            ip("link", "set", bridge, "up")
            for place in made:
                place.make(bridge)
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no network namespaces here: {error.stderr.decode().strip()}")
        yield made
    finally:
        for words in (*(("netns", "del", place.name) for place in made), ("link", "del", bridge)):
            subprocess.run(["ip", *words], check=False, capture_output=True)


@pytest.fixture
def queue_settings(places: list[Place], tmp_path: Path) -> Iterator[QueueSettings]:
    """Redis on the bridge, where both namespaces reach it."""
    server = Part("redis", redis(PORT, tmp_path, f"{NET}.1"), os.environ, tmp_path)
    server.start()
    yield QueueSettings(redis_url=f"redis://{NET}.1:{PORT}/0", lease_s=LEASE_S, beat_s=BEAT_S)
    server.kill()


@pytest.fixture
async def workers(
    places: list[Place],
    queue: JobQueue,
    queue_settings: QueueSettings,
    tmp_path: Path,
    wait_until: WaitUntil,
) -> AsyncIterator[dict[str, Part]]:
    """The workers, by the name of their namespace."""
    env = environment(queue_settings.redis_url, lease_s=LEASE_S, beat_s=BEAT_S, first_uid=FIRST_UID)
    parts = {
        place.name: Part(
            place.name,
            place.command(STAND_IN_WORKER),
            env | {"HALFBYTE_WORKER_NAME": place.name},
            tmp_path,
        )
        for place in places
    }
    for part in parts.values():
        part.start()
    try:
        for name in parts:
            await wait_until(lambda name=name: idle(queue, name), f"{name} is idle", 60)
        yield parts
    finally:
        for part in parts.values():
            part.thaw()
            part.ask_to_end()
        codes = [part.exit_code(30) for part in parts.values()]
    assert codes == [0, 0]
    assert control_groups(FIRST_UID) == []


async def found(queue: JobQueue, name: str) -> WorkerInfo | None:
    return next((w for w in await queue.workers() if w.id.startswith(f"{name}-")), None)


async def idle(queue: JobQueue, name: str) -> bool:
    with suppress(QueueUnavailable):  # Redis is starting
        worker = await found(queue, name)
        return worker is not None and worker.state == "idle"
    return False


async def submit(queue: JobQueue, lasts_s: float) -> Job:
    case = Case(m=(2,), n=(3,), k=(16,))
    text = source(lasts_s, 0).encode()
    return await queue.submit(
        Submission(problem="nvfp4_group_gemm", mode=Mode.TEST, cases=(case,), source=text), "me"
    )


async def test_the_job_of_a_worker_that_is_cut_off_moves_and_a_healed_one_writes_nothing_stale(
    queue: JobQueue, places: list[Place], workers: dict[str, Part], wait_until: WaitUntil
) -> None:
    async def look(state: JobState, attempt: int) -> Job | None:
        await queue.reap()  # as the API does
        now = await queue.get(job.id)
        return now if (now.state, now.attempts) == (state, attempt) else None

    job = await submit(queue, lasts_s=4)
    running = await wait_until(lambda: look(JobState.RUNNING, 1), "the job runs")
    away = next(place for place in places if running.worker.startswith(f"{place.name}-"))
    (other,) = (place for place in places if place is not away)
    said = workers[away.name].log.stat().st_size
    away.cut()
    moved = await wait_until(lambda: look(JobState.RUNNING, 2), "the job runs again", 40)
    assert moved.worker.startswith(f"{other.name}-")
    ended = await wait_until(lambda: look(JobState.FINISHED, 2), "the job has ended", 40)
    assert isinstance(ended.verdict, Passed)
    await wait_until(
        lambda: b"not written" in workers[away.name].log.read_bytes()[said:],
        "the one that is cut off has a verdict of its own",
        40,
    )
    away.heal()
    await wait_until(lambda: idle(queue, away.name), "it is back", 60)
    assert await queue.get(job.id) == ended
    states = [e.data["state"] async for e in queue.events(job.id) if e and e.type == "state"]
    assert states == ["queued", "running", "queued", "running", "finished"]

    workers[other.name].freeze()
    job = await submit(queue, lasts_s=0.1)
    following = await wait_until(lambda: look(JobState.FINISHED, 1), "the next job has ended", 40)
    assert following.worker.startswith(f"{away.name}-")
