from collections.abc import Iterator

import pytest

from tests.worker import gpu_stand_in
from tests.worker.judge_harness import LIMITS, JudgeHarness, running_judge
from worker.settings import WorkerSettings

RECALIBRATE_JOBS = 3


@pytest.fixture(scope="package")
def judge() -> Iterator[JudgeHarness]:
    """One judge for all tests of a worker: as in life, no job may harm the next."""
    with running_judge() as running:
        yield running


@pytest.fixture(scope="package")
def gpu_judge() -> Iterator[JudgeHarness]:
    """One judge of a stand-in for a GPU."""
    settings = WorkerSettings(limits=LIMITS, spares=1, recalibrate_jobs=RECALIBRATE_JOBS)
    with running_judge(settings, (gpu_stand_in.__file__,)) as running:
        yield running
