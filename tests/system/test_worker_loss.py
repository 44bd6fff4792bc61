"""What becomes of a job when its worker, or Redis, dies under it. Workers and judges are real."""

import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from contract.job import Job, JobState, WorkerInfo, WorkerState
from contract.limits import Limits
from contract.queue import JobQueue
from contract.settings import QueueSettings
from contract.submission import Mode, Submission
from contract.verdict import Passed
from kernels.problem import Case
from tests.conftest import WaitUntil
from tests.redis_server import SERVERS, RedisServer
from tests.system.chaos_processes import (
    WORKER,
    Part,
    control_groups,
    environment,
    named,
    tree,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

LEASE_S, BEAT_S, GRACE_S = 5.0, 0.5, 8.0
START_S = 120
FIRST_UID = 61_000
CANDIDATE = f"cand-{os.getpid()}"  # a name of 15 characters at most
HONEST = "from reference import ref_kernel\ndef custom_kernel(data):\n    return ref_kernel(data)\n"
NAMED = f"open('/proc/self/comm', 'w').write('{CANDIDATE}')\n"
SHORT = f"{NAMED}import time\ntime.sleep(3)\n{HONEST}"
ENDLESS = (
    f"{NAMED}import os, time\n"
    "for _ in range(3):\n"
    "    if os.fork() == 0:\n        os.setsid()\n        time.sleep(1000)\n"
    "def custom_kernel(data):\n    time.sleep(1000)\n"
)


def submission(source: str) -> Submission:
    return Submission(
        problem="nvfp4_group_gemm",
        mode=Mode.TEST,
        cases=(Case(m=(2,), n=(3,), k=(16,)),),
        source=source.encode(),
        filename="kernel.py",
        limits=Limits(import_s=60, emulated_call_s=120),
    )


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A server of this module alone, since it is stopped and its workers stay."""
    server = RedisServer(SERVERS["valkey9"], tmp_path_factory.mktemp("redis"), durable=True)
    yield server.start()
    server.end()


@pytest.fixture
def queue_settings(redis_server: RedisServer) -> QueueSettings:
    return QueueSettings(redis_url=redis_server.url, lease_s=LEASE_S, beat_s=BEAT_S)


class Fleet:
    """Two workers; whoever is dead is started when it is next needed."""

    def __init__(self, redis_url: str, folder: Path) -> None:
        env = environment(
            redis_url,
            lease_s=LEASE_S,
            beat_s=BEAT_S,
            first_uid=FIRST_UID,
            HALFBYTE_WORKER_SPARES="1",
            HALFBYTE_WORKER_GRACE_S=str(GRACE_S),
        )
        self.parts = [Part(name, WORKER, env, folder) for name in ("worker-a", "worker-b")]

    def by_pid(self, pid: int) -> Part:
        return next(part for part in self.parts if part.pid == pid)

    def other(self, part: Part) -> Part:
        return next(each for each in self.parts if each is not part)


@pytest.fixture(scope="module")
def two_workers(
    redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Fleet]:
    fleet = Fleet(redis_server.url, tmp_path_factory.mktemp("workers"))
    yield fleet
    started = [part for part in fleet.parts if part.alive]
    below = {seen for part in started for seen in tree(part.pid)}
    for part in started:
        part.ask_to_end()
    assert [part.exit_code(60) for part in started] == [0] * len(started)
    assert [seen for seen in below if seen.alive] == []
    assert control_groups(FIRST_UID) == []


@pytest.fixture
async def fleet(two_workers: Fleet, queue: JobQueue, wait_until: WaitUntil) -> AsyncIterator[Fleet]:
    """Two workers that are idle and on the list."""
    for part in two_workers.parts:
        if not part.alive:
            part.start()
    for part in two_workers.parts:
        await wait_until(lambda part=part: idle(queue, part), f"{part.name} is idle", START_S)
    yield two_workers
    for part in two_workers.parts:
        part.thaw()


async def info(queue: JobQueue, part: Part) -> WorkerInfo | None:
    return next((each for each in await queue.workers() if each.pid == part.pid), None)


async def idle(queue: JobQueue, part: Part) -> bool:
    assert part.alive, part.log.read_text()[-2000:]
    found = await info(queue, part)
    return found is not None and found.state == WorkerState.IDLE


class Trial:
    """A queue, the workers on it, and ways to wait for both."""

    def __init__(self, queue: JobQueue, fleet: Fleet, wait_until: WaitUntil) -> None:
        self.queue = queue
        self.fleet = fleet
        self.until = wait_until

    async def submit(self, source: str) -> Job:
        return await self.queue.submit(submission(source), "somebody")

    async def called(self, job: Job, attempt: int = 1) -> Part:
        """Return the worker that runs a job, once its candidate is in there."""

        async def in_candidate() -> WorkerInfo | None:
            await self.queue.reap()  # as the API does
            now = await self.queue.get(job.id)
            if now.state != JobState.RUNNING or now.attempts != attempt or now.progress is None:
                return None
            if now.progress.stage == "starting" or not named(CANDIDATE):
                return None
            return next((w for w in await self.queue.workers() if w.job == job.id), None)

        found = await self.until(in_candidate, f"attempt {attempt} of the job runs", 60)
        return self.fleet.by_pid(found.pid)

    async def ended(self, job: Job) -> Job:
        async def end() -> Job | None:
            await self.queue.reap()
            now = await self.queue.get(job.id)
            return now if now.state.ended else None

        return await self.until(end, "the job has ended", 90)

    async def gone(self, condition: Callable[[], object], what: str, timeout_s: float = 5) -> None:
        await self.until(lambda: not condition(), what, timeout_s)

    async def states(self, job: Job) -> list[object]:
        return [
            event.data["state"]
            async for event in self.queue.events(job.id)
            if event is not None and event.type == "state"
        ]


@pytest.fixture
def trial(queue: JobQueue, fleet: Fleet, wait_until: WaitUntil) -> Trial:
    return Trial(queue, fleet, wait_until)


async def test_the_job_of_a_killed_worker_runs_again_elsewhere_and_nothing_of_it_is_left(
    trial: Trial,
) -> None:
    job = await trial.submit(SHORT)
    killed = await trial.called(job)
    below = tree(killed.pid)
    assert len(below) >= 3  # the judge, and at least one runner in its sandbox
    killed.kill()
    await trial.gone(lambda: [seen for seen in below if seen.alive], "its children are gone")
    ended = await trial.ended(job)
    assert isinstance(ended.verdict, Passed)
    assert ended.attempts == 2
    assert await trial.states(job) == ["queued", "running", "queued", "running", "finished"]


async def test_a_job_that_loses_two_workers_is_failed_and_the_next_one_runs(trial: Trial) -> None:
    poison = await trial.submit(ENDLESS)
    (await trial.called(poison)).kill()
    (await trial.called(poison, attempt=2)).kill()
    failed = await trial.ended(poison)
    assert failed.state == JobState.FAILED
    assert failed.error is not None
    assert failed.error.reason == "worker_lost"
    assert failed.attempts == 2
    following = await trial.submit(HONEST)
    trial.fleet.parts[0].start()
    assert isinstance((await trial.ended(following)).verdict, Passed)
    assert (await trial.queue.get(poison.id)) == failed


async def test_a_worker_that_wakes_after_its_job_went_elsewhere_writes_nothing_and_works_on(
    trial: Trial,
) -> None:
    job = await trial.submit(SHORT)
    frozen = await trial.called(job)
    frozen.freeze()  # its judge goes on, and has a verdict for it when it wakes
    ended = await trial.ended(job)
    assert isinstance(ended.verdict, Passed)
    assert ended.attempts == 2
    frozen.thaw()
    await trial.until(lambda: idle(trial.queue, frozen), "it is idle again", 30)
    assert await trial.queue.get(job.id) == ended
    assert await trial.states(job) == ["queued", "running", "queued", "running", "finished"]
    other = trial.fleet.other(frozen)
    other.freeze()
    following = await trial.submit(HONEST)
    done = await trial.ended(following)
    other.thaw()
    assert isinstance(done.verdict, Passed)
    assert done.worker == (await info(trial.queue, frozen)).id


async def test_a_worker_that_is_asked_to_end_finishes_its_job_first(trial: Trial) -> None:
    job = await trial.submit(SHORT)
    asked = await trial.called(job)
    below = tree(asked.pid)
    asked.ask_to_end()
    ended = await trial.ended(job)
    assert isinstance(ended.verdict, Passed)
    assert ended.attempts == 1
    assert asked.exit_code(30) == 0
    assert [seen for seen in below if seen.alive] == []


async def test_a_job_that_outlasts_the_grace_goes_back_to_its_place_uncounted(
    trial: Trial,
) -> None:
    job = await trial.submit(ENDLESS)
    asked = await trial.called(job)
    other = trial.fleet.other(asked)
    other.freeze()
    later = await trial.submit(HONEST)
    asked.ask_to_end()
    assert asked.exit_code(GRACE_S + 30) == 0
    back, behind = await trial.queue.get(job.id), await trial.queue.get(later.id)
    assert (back.state, back.attempts, back.position) == (JobState.QUEUED, 0, 1)
    assert (behind.state, behind.position) == (JobState.QUEUED, 2)
    other.thaw()
    assert await trial.called(job) is other
    await trial.queue.cancel(job.id)
    assert isinstance((await trial.ended(later)).verdict, Passed)


async def test_a_job_that_ends_while_redis_is_away_is_written_when_it_returns(
    trial: Trial, redis_server: RedisServer
) -> None:
    job = await trial.submit(SHORT)
    worker = await trial.called(job)
    said = worker.log.stat().st_size
    redis_server.end()
    await trial.until(
        lambda: b"not written" in worker.log.read_bytes()[said:], "it has something to write", 60
    )
    redis_server.start()
    ended = await trial.ended(job)
    assert isinstance(ended.verdict, Passed)
    assert ended.attempts == 1


async def test_a_cancelled_job_has_ended_at_once_and_its_processes_are_gone(trial: Trial) -> None:
    job = await trial.submit(ENDLESS)
    worker = await trial.called(job)
    await trial.until(lambda: len(named(CANDIDATE)) >= 4, "its children run")
    assert (await trial.queue.cancel(job.id)).state == JobState.CANCELLED
    # A second is what is promised; the rest is for a machine with more to do than it can.
    await trial.gone(lambda: named(CANDIDATE), "nothing of it runs", timeout_s=5)
    await trial.until(lambda: idle(trial.queue, worker), "the worker is idle again")
    assert await trial.states(job) == ["queued", "running", "cancelled"]


async def test_a_judge_that_is_killed_costs_an_attempt_and_not_the_worker(trial: Trial) -> None:
    job = await trial.submit(SHORT)
    worker = await trial.called(job)
    judge = min(tree(worker.pid), key=lambda seen: int(seen.started))

    os.kill(judge.pid, signal.SIGKILL)
    ended = await trial.ended(job)
    assert isinstance(ended.verdict, Passed)
    assert ended.attempts == 2
    await trial.until(lambda: idle(trial.queue, worker), "it has another judge", START_S)
