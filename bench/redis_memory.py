"""What finished jobs take of Redis's memory, and of its disk.

    .venv/bin/python -m bench.redis_memory [--out bench/results/redis_memory.json] [--jobs 10000]

Three kinds of jobs, each in a Redis of its own, with all steps of their lives: a typical one (10 KB
of source, ten cases, four of them timed with a hundred samples each); one with the largest file
(1 000 000 bytes); and the worst that the limits allow (beside the file 64 cases of 1 024 groups,
both logs full, 4 MiB of artifacts, random so that nothing can be compressed). The last two are
measured on fewer jobs and given a job: what a job takes does not depend on how many there are.
"""

import argparse
import asyncio
import platform
import random
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from redis.asyncio import Redis

from bench.own_service import WORKER, connected, listening, verdict
from bench.report import keep
from contract.job import Progress
from contract.queue import JobQueue
from contract.submission import Mode, Submission
from contract.verdict import CaseResult, Log, Passed, Verdict
from kernels.problem import Case
from tests.service.workers import timed
from tests.system.chaos_processes import Part, free_port, redis

AT_ONCE = 4
RANDOM = random.Random(1)
SOURCE_BYTES, LARGEST_SOURCE_BYTES = 10_000, 1_000_000
LOG_BYTES = 65_536
ARTIFACT_BYTES, ARTIFACTS = 512 << 10, 8
MOST_CASES, MOST_GROUPS = 64, 1_024
KIB = 1024

Life = tuple[Submission, Verdict, Mapping[str, bytes]]


def typical(source_bytes: int = SOURCE_BYTES) -> Life:
    exact = verdict()
    timing = timed(tuple(RANDOM.uniform(70, 75) for _ in range(100))).cases[0].timing
    cases = tuple(
        case.model_copy(update={"timing": timing if case.index < 4 else None})
        for case in exact.cases
    )
    log = Log(stdout="warming up\n" * 50, stdout_bytes=550)
    sent = submission(source_bytes, tuple(Case(m=c.m, n=c.n, k=c.k) for c in cases))
    return sent, exact.model_copy(update={"cases": cases, "log": log}), {}


def worst() -> Life:
    m = tuple(RANDOM.randrange(10_000, 20_000) for _ in range(MOST_GROUPS))
    case = Case(m=m, n=(10,) * MOST_GROUPS, k=(16,) * MOST_GROUPS)  # operands of half a GiB
    result = replace_sizes(verdict().cases[0], case)
    log = Log(stdout=text(LOG_BYTES), stderr=text(LOG_BYTES), truncated=True)
    found: Passed = verdict().model_copy(update={"cases": (result,) * MOST_CASES, "log": log})
    artifacts = {f"{number}.ptx": text(ARTIFACT_BYTES).encode() for number in range(ARTIFACTS)}
    return submission(LARGEST_SOURCE_BYTES, (case,) * MOST_CASES), found, artifacts


def submission(source_bytes: int, cases: tuple[Case, ...]) -> Submission:
    return Submission(
        problem="nvfp4_group_gemm",
        mode=Mode.TEST,
        cases=tuple(replace(case, seed=RANDOM.getrandbits(128)) for case in cases),
        source=RANDOM.randbytes(source_bytes),
        filename="kernel.py",
    )


def replace_sizes(result: CaseResult, case: Case) -> CaseResult:
    return result.model_copy(update={"m": case.m, "n": case.n, "k": case.k})


def text(size: int) -> str:
    """Return text that hardly any compression makes smaller."""
    return RANDOM.randbytes(size // 2).hex()


async def live(queue: JobQueue, life: Life, jobs: int) -> None:
    """Take jobs from their submission to their end."""
    sent, found, artifacts = life
    turns = iter(range(jobs))

    async def some(owner: str) -> None:
        for _ in turns:
            await queue.submit(sent, owner)
            lease = await queue.claim(WORKER, 10)
            assert lease is not None
            for case in range(len(found.cases[:10])):
                await queue.progress(lease, Progress(stage="testing", case=case, cases=10))
            await queue.finish(lease, found, artifacts)

    await asyncio.gather(*(some(f"owner-{number}") for number in range(AT_ONCE)))


async def measure(life: Life, jobs: int) -> dict[str, object]:
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="redis-memory-") as name:
        folder = Path(name)
        server = Part("redis", redis(port, folder), {}, folder)
        server.start()
        try:
            await listening(port)
            async with connected(f"redis://127.0.0.1:{port}/0") as (queue, client):
                before = await used(client)
                await live(queue, life, jobs)
                after = await used(client)
                disk_bytes = on_disk(folder)
        finally:
            server.kill()
    taken = after["used_memory"] - before["used_memory"]
    return {
        "jobs": jobs,
        "memory_mib": round(taken / KIB**2, 1),
        "memory_kib_a_job": round(taken / jobs / KIB, 1),
        "resident_mib": round(after["used_memory_rss"] / KIB**2, 1),
        "disk_mib": round(disk_bytes / KIB**2, 1),
    }


def on_disk(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*.aof*"))


async def used(client: Redis) -> Mapping[str, int]:
    figures: Mapping[str, int] = await client.info("memory")
    return figures


async def everything(jobs: int) -> dict[str, object]:
    few = max(1, jobs // 100)
    return {
        "typical": await measure(typical(), jobs),
        "largest_file": await measure(typical(LARGEST_SOURCE_BYTES), few),
        "worst": await measure(worst(), few),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("bench/results/redis_memory.json"))
    parser.add_argument("--jobs", type=int, default=10_000)
    options = parser.parse_args()
    report = {"python": platform.python_version(), **asyncio.run(everything(options.jobs))}
    keep(report, options.out)


if __name__ == "__main__":
    main()
