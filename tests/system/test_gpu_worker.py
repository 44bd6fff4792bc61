"""Modes that need a GPU, through queue and worker: a stand-in for the GPU, and nothing else.

And workers whose GPU is taken, broken or none: they are seen, with the reason.
"""

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from contract.job import JobState, WorkerInfo, WorkerState
from contract.queue import JobQueue
from contract.settings import QueueSettings
from contract.submission import Mode, Submission
from tests.conftest import WaitUntil
from tests.system.chaos_processes import WORKER as REAL_WORKER
from tests.system.chaos_processes import Part, environment
from tests.worker.gpu_stand_in import PROBLEM
from tests.worker.test_gpu_lock import HOLD
from worker.gpu_lock import lock_folder
from worker.sandbox.confinement import SandboxSettings

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


@contextmanager
def running(part: Part) -> Iterator[None]:
    part.start()
    try:
        yield
    finally:
        part.ask_to_end()
        code = part.exit_code(30)
    assert code == 0, part.log.read_text()


def gpu_environment(redis_url: str, gpu: str, state: Path) -> dict[str, str]:
    more = {
        "HALFBYTE_WORKER_GPU": gpu,
        "HALFBYTE_WORKER_SPARES": "1",
        "HALFBYTE_WORKER_SANDBOX__STATE": str(state),
    }
    return environment(redis_url, lease_s=15, beat_s=1, first_uid=62_600, **more)


@contextmanager
def held_by_another(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that has the lock of GPU-1."""
    hold = (sys.executable, "-c", HOLD, str(folder))
    holder = subprocess.Popen(hold, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        yield holder
    finally:
        holder.kill()
        holder.communicate()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """One that sandboxed processes get through, other than what pytest makes."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o711)
        yield Path(name)


@pytest.mark.timeout(120)
async def test_a_worker_whose_gpu_is_taken_says_by_whom_and_has_it_once_it_is_free(
    queue: JobQueue,
    queue_settings: QueueSettings,
    tmp_path: Path,
    open_folder: Path,
    wait_until: WaitUntil,
) -> None:
    async def in_state(state: WorkerState) -> WorkerInfo | None:
        return next((each for each in await queue.workers() if each.state is state), None)

    env = gpu_environment(queue_settings.redis_url, "GPU-1", open_folder)
    locks = lock_folder(SandboxSettings(state=open_folder))
    part = Part("worker", WORKER, env, tmp_path)
    with held_by_another(locks) as holder, running(part):
        unfit = await wait_until(
            lambda: in_state(WorkerState.UNHEALTHY), "it says that it is unfit", 60
        )
        assert unfit.reason == "GPU-1 is in use by worker alpha, process 77"
        assert (unfit.gpu, unfit.device, unfit.serves) == ("GPU-1", "unknown", ())
        holder.kill()
        fit = await wait_until(lambda: in_state(WorkerState.IDLE), "it has the GPU", 60)
        assert (fit.id, fit.device, fit.reason) == (unfit.id, "H200", None)


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("gpu", "reason"),
    [
        ("GPU-0a", "GPU GPU-0a cannot be used: "),
        ("MIG-0a", "MIG-0a: it is cut up (MIG), which is not served: give the worker a whole GPU"),
    ],
)
async def test_no_cpu_takes_the_place_of_a_gpu_that_cannot_be_used(
    queue: JobQueue,
    queue_settings: QueueSettings,
    tmp_path: Path,
    wait_until: WaitUntil,
    gpu: str,
    reason: str,
) -> None:
    env = gpu_environment(queue_settings.redis_url, gpu, tmp_path / "state")
    with running(Part("worker", REAL_WORKER, env, tmp_path)):
        (unfit,) = await wait_until(queue.workers, "it is on the list", 60)
        assert (unfit.state, unfit.device) == (WorkerState.UNHEALTHY, "unknown")
        assert unfit.reason.startswith(reason)
