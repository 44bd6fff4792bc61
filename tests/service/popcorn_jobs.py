"""Jobs as popcorn-cli has them made, and the worker that takes them."""

from contract.job import WorkerInfo
from contract.verdict import Passed
from tests.service.workers import HERE, timed

BOARD = "nvfp4_group_gemm"
H200 = WorkerInfo(
    id="w1",
    pid=1,
    host="here",
    device="H200",
    serves=("H200", "sm_90", "any"),
    python="3.11",
    sandbox_level=2,
    ranked=True,
)


async def judged(queue, verdict, on: WorkerInfo = H200) -> str:
    """Claim the next job as a worker that lives, and end it with a verdict."""
    lease = await queue.claim(on, wait_s=10)
    assert lease is not None
    await queue.finish(lease, verdict)
    return lease.job.id


def ranked() -> Passed:
    """A verdict on the ten tests and four benchmarks of a ranked job."""
    (case,) = timed().cases
    tests = tuple(case.model_copy(update={"index": i, "timing": None}) for i in range(10))
    benchmarks = tuple(case.model_copy(update={"index": 10 + i}) for i in range(4))
    here = HERE.model_copy(update={"device": "H200", "gpu": "NVIDIA H200"})
    return timed().model_copy(
        update={"cases": tests + benchmarks, "environment": here, "sandbox_level": 2}
    )
