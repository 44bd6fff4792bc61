"""A GPU proves itself before the first job and after each; a judge whose GPU does not, ends."""

import sys

import pytest

from contract.submission import Mode
from tests.worker import gpu_stand_in
from tests.worker.gpu_stand_in import PROBLEM, SOUND
from tests.worker.judge_harness import LIMITS, running_judge
from worker.judge_client import JudgeClient, JudgeLost
from worker.main import judge_environment
from worker.messages import Judged, Unhealthy
from worker.settings import WorkerSettings

HONEST = (
    b"from reference import ref_kernel\n\ndef custom_kernel(data):\n    return ref_kernel(data)\n"
)


class GpuJudge(JudgeClient):
    COMMAND = (sys.executable, "-I", gpu_stand_in.__file__)


async def test_a_gpu_that_fails_at_the_start_never_gets_a_job() -> None:
    settings = WorkerSettings(limits=LIMITS, spares=1, name=f"{SOUND}0")
    judge = GpuJudge(settings, judge_environment(settings))
    with pytest.raises(JudgeLost, match="it multiplies wrongly"):
        await judge.start()
    assert not judge.alive


def test_a_job_has_its_verdict_and_the_gpu_that_it_broke_leaves() -> None:
    settings = WorkerSettings(limits=LIMITS, spares=1, name=f"{SOUND}1")
    with running_judge(settings, (gpu_stand_in.__file__,)) as judge:
        judge.begin(HONEST, PROBLEM.tests[:1], mode=Mode.TEST)
        said = judge.end()
        assert isinstance(said, Unhealthy)
        assert said.message == "it multiplies wrongly"
        assert isinstance(judge.end(), Judged)
        assert judge.process.wait(20) == 0
