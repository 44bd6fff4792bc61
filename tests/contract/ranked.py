"""Ranked jobs and what is found of them, for tests of leaderboards."""

from contract.job import Job
from contract.leaderboard import Leaderboards
from contract.queue import JobQueue
from contract.submission import Mode, official_cases, problem_named
from contract.verdict import Environment, Passed, Score, Verdict
from tests.contract.examples import submission, worker

PROBLEM = "nvfp4_group_gemm"
RANKED = submission(Mode.RANKED).model_copy(
    update={"cases": official_cases(problem_named(PROBLEM), Mode.RANKED)}
)
GPU_WORKER = worker("gpu", ("H200", "sm_90", "any")).model_copy(
    update={"device": "H200", "sandbox_level": 2, "ranked": True}
)


def timed(geomean_us: float | None, device: str = "H200") -> Passed:
    """A verdict that counts."""
    return Passed(
        summary="passed",
        environment=Environment(
            host="here", device=device, python="3.11", torch="2", triton="3", halfbyte="0"
        ),
        sandbox_level=2,
        emulated=False,
        score=None if geomean_us is None else Score(geomean_us=geomean_us),
    )


async def ranked(queue: JobQueue, owner: str, found: float | Verdict, device: str = "H200") -> Job:
    """Have one ranked job of an owner sent, claimed and finished; nothing else may wait."""
    verdict = timed(found, device) if isinstance(found, float) else found
    job = await queue.submit(RANKED, owner)
    lease = await queue.claim(GPU_WORKER, 0)
    assert lease is not None
    assert lease.job.id == job.id
    await queue.finish(lease, verdict)
    return job


async def standing(boards: Leaderboards, device: str = "H200") -> list[tuple[int, str, float]]:
    """Who stands on a board: rank, owner and score."""
    page = await boards.page(PROBLEM, device)
    return [(entry.rank, entry.owner, entry.geomean_us) for entry in page.entries]
