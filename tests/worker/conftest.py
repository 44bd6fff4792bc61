from collections.abc import Iterator

import pytest

from tests.worker.judge_harness import JudgeHarness, running_judge


@pytest.fixture(scope="package")
def judge() -> Iterator[JudgeHarness]:
    """One judge for all tests of a worker: as in life, no job may harm the next."""
    with running_judge() as running:
        yield running
