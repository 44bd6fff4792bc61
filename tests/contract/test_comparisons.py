"""A comparison is one job with two candidates: both travel with it, and both leave with it."""

import pytest

from contract.archive import Archive
from contract.job import JobState
from contract.queue import JobQueue
from contract.submission import Candidate, Mode, Submission
from contract.verdict import CaseResult, Compared, ComparedCase
from kernels.turns import Ratio
from tests.contract.examples import passed, submission, worker

GPU = worker(serves=("H200", "any")).model_copy(update={"device": "H200"})
A, B = b"# a\n", b"# b \xff\n"


def comparison(a: bytes | None, b: bytes | None) -> Submission:
    other = Candidate(
        kernel=None if b else "portable",
        source=b,
        filename="b.py" if b else None,
        sha256="5e" * 32 if b else None,
    )
    kernel = None if a else "auto"
    return submission(Mode.COMPARE).model_copy(
        update={"other": other, "source": a, "kernel": kernel}
    )


@pytest.mark.parametrize(("a", "b"), [(A, B), (A, None), (None, B), (None, None)])
async def test_both_candidates_travel_with_the_job(
    queue: JobQueue, a: bytes | None, b: bytes | None
) -> None:
    asked = comparison(a, b)
    job = await queue.submit(asked, "me")
    assert job.other is not None
    assert job.other == asked.other.model_copy(update={"source": None})
    assert (await queue.source(job.id), await queue.source(job.id, other=True)) == (a, b)
    lease = await queue.claim(GPU, 0)
    assert lease is not None
    assert lease.submission == asked
    assert lease.job.other == job.other


async def test_no_worker_without_a_gpu_takes_it(queue: JobQueue) -> None:
    await queue.submit(comparison(A, B), "me")
    assert await queue.claim(worker(serves=("cpu", "any")), 0) is None


async def test_a_verdict_keeps_both_sides_and_lists_show_neither(queue: JobQueue) -> None:
    job = await queue.submit(comparison(A, B), "me")
    lease = await queue.claim(GPU, 0)
    ratio = Ratio(0.9, 0.89, 0.91, 24, "faster")
    case = CaseResult(index=0, m=(1,), n=(1,), k=(16,), distribution="official", outcome="passed")
    compared = Compared(overall=ratio, cases=(ComparedCase(index=0, b=case, ratio=ratio),))
    await queue.finish(lease, passed().model_copy(update={"compared": compared}))
    found = await queue.get(job.id)
    assert found.state is JobState.FINISHED
    assert found.verdict.compared == compared
    (listed,), _ = await queue.list(mode=Mode.COMPARE)
    assert listed.job.other == job.other
    assert listed.job.verdict is None


async def test_a_forgotten_job_leaves_neither_file(queue: JobQueue) -> None:
    job = await queue.submit(comparison(A, B), "me")
    await Archive(queue.store).forget(job.id)
    assert await queue.source(job.id, other=True) is None
