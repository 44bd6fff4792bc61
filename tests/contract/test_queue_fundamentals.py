"""The life of a job, one concept a test. The place to start reading."""

import pytest

from contract.errors import JobNotFound, LeaseLost
from contract.job import JobState, Progress
from contract.submission import Mode
from tests.contract.examples import LOST, passed, submission, worker


async def test_a_submitted_job_is_queued_and_knows_its_position(queue):
    job = await queue.submit(submission(), "alice")
    assert (job.state, job.position, job.number, job.attempts) == (JobState.QUEUED, 1, 1, 0)
    assert (job.owner, job.device, job.filename) == ("alice", "any", "kernel.py")
    assert job.sha256 == submission().sha256
    assert job.created_at.utcoffset().total_seconds() == 0
    assert await queue.get(job.id) == job


async def test_a_claim_hands_over_the_submission_as_it_was_sent(queue):
    sent = submission(source=b"\xff\x00 not utf-8")
    job = await queue.submit(sent, "alice")
    lease = await queue.claim(worker(), 0)
    assert lease.submission == sent
    assert (lease.job.id, lease.attempt, lease.worker) == (job.id, 1, "w1")
    assert lease.job.state is JobState.RUNNING
    assert lease.job.started_at is not None
    assert lease.job.position is None
    assert await queue.source(job.id) == sent.source


async def test_a_builtin_kernel_has_no_source(queue):
    job = await queue.submit(submission(source=None), "alice")
    assert await queue.source(job.id) is None
    assert (await queue.claim(worker(), 0)).submission.source is None


async def test_a_finished_job_has_its_verdict_and_never_runs_again(queue):
    await queue.submit(submission(), "alice")
    lease = await queue.claim(worker(), 0)
    await queue.finish(lease, passed())
    job = await queue.get(lease.job.id)
    assert (job.state, job.verdict, job.worker) == (JobState.FINISHED, passed(), "w1")
    assert job.finished_at is not None
    assert await queue.claim(worker(), 0) is None


async def test_finishing_may_be_repeated(queue):
    await queue.submit(submission(), "alice")
    lease = await queue.claim(worker(), 0)
    await queue.finish(lease, passed())
    await queue.finish(lease, passed("another"))
    assert (await queue.get(lease.job.id)).verdict == passed()


async def test_progress_is_kept_with_the_job(queue):
    await queue.submit(submission(), "alice")
    lease = await queue.claim(worker(), 0)
    at = Progress(stage="testing", case=0, cases=1)
    await queue.progress(lease, at)
    assert (await queue.get(lease.job.id)).progress == at


async def test_a_released_job_returns_to_its_old_place(queue):
    first = await queue.submit(submission(), "alice")
    for _ in range(3):
        await queue.submit(submission(), "alice")
    lease = await queue.claim(worker(), 0)
    job = await queue.release(lease, LOST)
    assert (job.id, job.state, job.position, job.attempts) == (first.id, JobState.QUEUED, 1, 1)
    assert (job.worker, job.started_at, job.progress) == (None, None, None)
    assert (await queue.claim(worker("w2"), 0)).attempt == 2


async def test_a_release_of_the_last_attempt_fails_the_job(queue):
    job = await queue.submit(submission(), "alice")
    for _ in range(2):
        job = await queue.release(await queue.claim(worker(), 0), LOST)
    assert (job.state, job.error, job.verdict) == (JobState.FAILED, LOST, None)
    assert await queue.claim(worker(), 0) is None


async def test_a_draining_worker_does_not_use_up_an_attempt(queue):
    await queue.submit(submission(), "alice")
    for _ in range(5):
        lease = await queue.claim(worker(), 0)
        job = await queue.release(lease, LOST, count_attempt=False)
        assert (job.state, job.attempts) == (JobState.QUEUED, 0)


async def test_a_release_may_be_repeated_even_when_the_job_runs_again(queue):
    await queue.submit(submission(), "alice")
    first = await queue.claim(worker(), 0)
    await queue.release(first, LOST)
    second = await queue.claim(worker("w2"), 0)
    assert (await queue.release(first, LOST)).worker == "w2"
    await queue.finish(second, passed())


async def test_cancelling_a_queued_job_ends_it_at_once(queue):
    job = await queue.submit(submission(), "alice")
    cancelled = await queue.cancel(job.id)
    assert (cancelled.state, cancelled.position) == (JobState.CANCELLED, None)
    assert cancelled.finished_at is not None
    assert await queue.claim(worker(), 0) is None
    assert await queue.depth() == {}


async def test_cancelling_an_ended_job_changes_nothing(queue):
    await queue.submit(submission(), "alice")
    lease = await queue.claim(worker(), 0)
    await queue.finish(lease, passed())
    assert await queue.cancel(lease.job.id) == await queue.get(lease.job.id)


@pytest.mark.parametrize("call", ["get", "cancel"])
async def test_an_unknown_job_is_not_found(queue, call):
    with pytest.raises(JobNotFound):
        await getattr(queue, call)("0" * 32)


async def test_depth_counts_what_waits_by_device(queue):
    for device in ("any", "any", "H200"):
        await queue.submit(submission(Mode.BENCHMARK, device), "alice")
    assert await queue.depth() == {"any": 2, "H200": 1}
    await queue.claim(worker(serves=("H200",)), 0)
    assert await queue.depth() == {"any": 2}


async def test_a_worker_is_listed_while_it_beats(queue):
    await queue.heartbeat(worker())
    (listed,) = await queue.workers()
    assert listed.heartbeat_at is not None
    assert listed.model_copy(update={"heartbeat_at": None}) == worker()
    await queue.goodbye("w1")
    assert await queue.workers() == []


async def test_a_lease_of_an_ended_job_is_lost(queue):
    await queue.submit(submission(), "alice")
    lease = await queue.claim(worker(), 0)
    await queue.finish(lease, passed())
    with pytest.raises(LeaseLost):
        await queue.renew(lease)
    with pytest.raises(LeaseLost):
        await queue.release(lease, LOST)
