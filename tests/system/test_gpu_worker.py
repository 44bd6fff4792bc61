"""Modes that need a GPU, through queue and worker: a stand-in for the GPU, and nothing else."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contract.job import JobState
from contract.queue import JobQueue
from contract.settings import QueueSettings
from contract.submission import Mode, Submission
from tests.conftest import WaitUntil
from tests.system.chaos_processes import Part, environment
from tests.worker.gpu_stand_in import PROBLEM

HONEST = Path("tests/candidates/honest_torch.py").read_bytes()
WORKER = (sys.executable, "-P", str(Path("tests/worker/gpu_worker.py").absolute()))

pytestmark = pytest.mark.slow


@pytest.fixture
async def worker(
    queue: JobQueue, queue_settings: QueueSettings, tmp_path: Path, wait_until: WaitUntil
) -> AsyncIterator[Part]:
    env = environment(
        queue_settings.redis_url,
        lease_s=15,
        beat_s=2,
        first_uid=62_500,
        HALFBYTE_WORKER_RANKED_LEVEL="1",
        HALFBYTE_WORKER_SPARES="1",
    )
    part = Part("worker", WORKER, env, tmp_path)
    part.start()
    try:
        await wait_until(queue.workers, "it is on the list", 60)
        yield part
    finally:
        part.ask_to_end()
        code = part.exit_code(30)
    assert code == 0, part.log.read_text()


@pytest.mark.timeout(120)
async def test_ranked_and_profile_jobs_are_claimed_judged_and_kept(
    queue: JobQueue, worker: Part
) -> None:
    (info,) = await queue.workers()
    assert (info.device, info.ranked) == ("H200", True)
    jobs = []
    for mode, cases in (
        (Mode.RANKED, PROBLEM.tests + PROBLEM.benchmarks),
        (Mode.PROFILE, PROBLEM.benchmarks),
    ):
        asked = Submission(problem=PROBLEM.name, mode=mode, cases=cases, source=HONEST)
        jobs.append(await queue.submit(asked, "me"))
    ranked, profile = [await queue.wait(job.id, 60) for job in jobs]
    assert (ranked.state, ranked.verdict.outcome) == (JobState.FINISHED, "passed")
    assert ranked.verdict.score.geomean_us == pytest.approx(200)
    text = await queue.artifact(profile.id, profile.verdict.profile.links["text"])
    assert b"aten::mm" in text
