"""Any sequence of transitions, on a real server, against a model that is a dictionary.

Every transition is one script, so nothing can crash within one; crashing between any two is what
`expire` is: a worker that is never heard of again.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

import pytest
import redis
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from contract.device import line_of
from contract.errors import LeaseLost
from contract.job import Job, JobState, Lease, Progress
from contract.queue import JobQueue
from contract.retries import retry
from contract.settings import QueueSettings
from contract.submission import Mode
from tests.contract.examples import LOST, passed, submission, worker
from tests.redis_server import leaked_keys

MAX_ATTEMPTS = 2
DEVICES = ("any", "cpu", "H200")
LINES = sorted({line_of(device, mode) for device in DEVICES for mode in Mode})


@dataclass
class Expected:
    """What the model knows of a job."""

    line: str
    state: JobState = JobState.QUEUED
    attempts: int = 0
    allowed: int = MAX_ATTEMPTS
    live: Lease | None = None
    stale: list[Lease] = field(default_factory=list)

    def end_lease(self, state: JobState) -> None:
        self.stale.append(self.live)
        self.live, self.state = None, state

    def give_back(self) -> None:
        used_up = self.attempts >= self.allowed
        self.end_lease(JobState.FAILED if used_up else JobState.QUEUED)


class QueueMachine(RuleBasedStateMachine):
    """Drives a queue; `url` is set in a subclass."""

    url: str

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.Runner()
        self.queue = JobQueue.connect(QueueSettings(redis_url=self.url, max_attempts=MAX_ATTEMPTS))
        self.redis = redis.Redis.from_url(self.url, decode_responses=True)
        self.redis.flushall()
        self.jobs: dict[str, Expected] = {}
        self.listed: dict[str, Job] = {}

    def do(self, coroutine):
        return self.loop.run(coroutine)

    def teardown(self) -> None:
        assert leaked_keys(self.redis) == []
        self.do(self.queue.close())
        self.loop.close()
        self.redis.close()

    def of_state(self, *states: JobState) -> list[str]:
        return [job_id for job_id, job in self.jobs.items() if job.state in states]

    def pick(self, data, *states: JobState) -> Expected:
        return self.jobs[data.draw(st.sampled_from(self.of_state(*states)))]

    def some(*states: JobState):
        return precondition(lambda self: self.of_state(*states))

    @rule(
        owner=st.sampled_from(["alice", "bob"]),
        mode=st.sampled_from(Mode),
        device=st.sampled_from(DEVICES),
    )
    def submit(self, owner, mode, device):
        job = self.do(self.queue.submit(submission(mode, device), owner))
        assert job.id not in self.jobs
        self.jobs[job.id] = Expected(line_of(device, mode))

    @rule(
        name=st.sampled_from(["w1", "w2"]),
        serves=st.sampled_from([DEVICES, DEVICES[::-1], ("any",), ("H200", "any")]),
        fit=st.booleans(),
    )
    def claim(self, name, serves, fit):
        who = worker(name, serves)
        if fit:  # for what takes a GPU
            who = who.model_copy(update={"device": "H200", "ranked": True})
        waiting = {i for i in self.of_state(JobState.QUEUED) if self.jobs[i].line in who.lines}
        heads = {i for i in waiting if self.listed[i].position == 1}
        lease = self.do(self.queue.claim(who, 0))
        if not waiting:
            assert lease is None
            return
        assert lease.job.id in heads
        job = self.jobs[lease.job.id]
        job.state, job.live, job.attempts = JobState.RUNNING, lease, job.attempts + 1
        assert lease.attempt == job.attempts

    @some(JobState.RUNNING)
    @rule(data=st.data())
    def renew_and_report(self, data):
        lease = self.pick(data, JobState.RUNNING).live
        self.do(self.queue.renew(lease))
        self.do(self.queue.progress(lease, Progress(stage="testing")))

    @some(JobState.RUNNING)
    @rule(data=st.data(), repeat=st.booleans())
    def finish(self, data, repeat):
        job = self.pick(data, JobState.RUNNING)
        for _ in range(1 + repeat):
            self.do(self.queue.finish(job.live, passed(job.live.token)))
        job.live, job.state = None, JobState.FINISHED

    @some(JobState.RUNNING)
    @rule(data=st.data(), repeat=st.booleans())
    def release(self, data, repeat):
        job = self.pick(data, JobState.RUNNING)
        for _ in range(1 + repeat):
            self.do(self.queue.release(job.live, LOST))
        job.give_back()

    @some(JobState.RUNNING)
    @rule(data=st.data())
    def drain(self, data):
        job = self.pick(data, JobState.RUNNING)
        self.do(self.queue.release(job.live, LOST, count_attempt=False))
        job.attempts -= 1
        job.end_lease(JobState.QUEUED)

    @some(JobState.RUNNING)
    @rule(data=st.data())
    def expire(self, data):
        job = self.pick(data, JobState.RUNNING)
        self.redis.zadd("halfbyte:leases", {job.live.job.id: 0}, xx=True)
        self.redis.set("halfbyte:watched", 1, ex=60)
        self.redis.delete("halfbyte:quiet")
        assert self.do(self.queue.reap()) == [job.live.job.id]
        job.give_back()

    @some(JobState.FAILED)
    @rule(data=st.data(), repeat=st.booleans())
    def retry(self, data, repeat):
        job_id = data.draw(st.sampled_from(self.of_state(JobState.FAILED)))
        for _ in range(1 + repeat):
            assert self.do(retry(self.queue, job_id)).state is JobState.QUEUED
        job = self.jobs[job_id]
        job.state, job.allowed = JobState.QUEUED, job.attempts + MAX_ATTEMPTS

    @some(*JobState)
    @rule(data=st.data())
    def cancel(self, data):
        job_id = data.draw(st.sampled_from(self.of_state(*JobState)))
        job = self.jobs[job_id]
        if not job.state.ended:
            if job.live is not None:
                job.stale.append(job.live)
            job.live, job.state = None, JobState.CANCELLED
        assert self.do(self.queue.cancel(job_id)).state is job.state

    @precondition(lambda self: any(job.stale for job in self.jobs.values()))
    @rule(data=st.data(), write=st.sampled_from(["renew", "progress", "finish"]))
    def write_with_a_stale_lease(self, data, write):
        stale = [lease for job in self.jobs.values() for lease in job.stale]
        lease = stale[data.draw(st.integers(0, len(stale) - 1))]
        before = self.do(self.queue.get(lease.job.id))
        writes = {
            "renew": lambda: self.queue.renew(lease),
            "progress": lambda: self.queue.progress(lease, Progress(stage="stale")),
            "finish": lambda: self.queue.finish(lease, passed("stale")),
        }
        with pytest.raises(LeaseLost) as lost:
            self.do(writes[write]())
        assert lost.value.cancelled is (before.state is JobState.CANCELLED)
        assert self.do(self.queue.get(lease.job.id)) == before

    @invariant()
    def every_job_is_where_the_model_has_it(self):
        page, cursor = self.do(self.queue.list(limit=200))
        assert cursor is None
        self.listed = {row.job.id: row.job for row in page}
        assert {job.id: (job.state, job.attempts) for job in self.listed.values()} == {
            job_id: (job.state, job.attempts) for job_id, job in self.jobs.items()
        }
        assert all(job.attempts <= job.allowed for job in self.jobs.values())
        running = self.of_state(JobState.RUNNING)
        assert sorted(self.redis.zrange("halfbyte:leases", 0, -1)) == sorted(running)
        for line in LINES:
            queued = [i for i in self.of_state(JobState.QUEUED) if self.jobs[i].line == line]
            places = sorted(self.listed[job_id].position for job_id in queued)
            assert places == list(range(1, len(queued) + 1))
            assert self.redis.zcard(f"halfbyte:queue:{line}") == len(queued)
            by_mode = Counter(self.listed[job_id].mode for job_id in queued)
            counted = {mode: self.redis.zcard(f"halfbyte:line:{line}:{mode}") for mode in Mode}
            assert counted == {mode: by_mode[mode] for mode in Mode}
        owners = Counter(self.listed[job_id].owner for job_id in self.of_state(JobState.QUEUED))
        waiting = self.redis.hgetall("halfbyte:waiting")
        assert {owner: int(number) for owner, number in waiting.items()} == owners


def test_no_sequence_of_transitions_breaks_the_queue(redis_server):
    machine = type("Machine", (QueueMachine,), {"url": redis_server.url})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=25,
            stateful_step_count=40,
            deadline=None,
            database=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
