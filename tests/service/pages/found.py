"""Verdicts as a GPU would give them, with samples drawn from a seed."""

import math
import random
from dataclasses import replace

from contract.job import WorkerInfo
from contract.problem import PROBLEMS
from contract.queue import JobQueue
from contract.submission import Mode, Submission, official_cases
from contract.verdict import (
    CaseResult,
    Compared,
    ComparedCase,
    Environment,
    Incorrect,
    Log,
    Passed,
    ReviewFlag,
    Score,
    Verdict,
)
from kernels.measurement import Comparison, Range, Telemetry, Timing, Worst
from kernels.problem import Case
from kernels.roofline import speed_of_light_us
from kernels.turns import Ratio

PROBLEM = PROBLEMS["nvfp4_group_gemm"]
GPU = "NVIDIA H200"
HERE = Environment(
    host="gpu-03",
    device="H200",
    gpu=GPU,
    gpu_uuid="GPU-0",
    driver="580.95.05",
    python="3.12.3",
    torch="2.11.0",
    triton="3.6.0",
    halfbyte="0.1.0",
    sandbox="bubblewrap, seccomp",
)
HOSTILE = (
    "</pre><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31m\u202eevil\u202c &amp;"
)
"""What a candidate might print."""
FILE = b"import torch\n\n\ndef custom_kernel(data):\n    return data[2]\n"


def timing_of(case: Case, median_us: float, seed: str) -> Timing:
    """240 samples around a median, with some stragglers."""
    work, draw = PROBLEM.work(case), random.Random(seed)
    times = sorted(
        median_us * (1 + draw.gauss(0, 0.015) + (0.2 if draw.random() < 0.02 else 0))
        for _ in range(240)
    )
    median, light_us = times[120], speed_of_light_us(work, GPU) or 0.0
    return Timing(
        median_us=median,
        p10_us=times[24],
        p90_us=times[216],
        samples=len(times),
        method="events",
        event_median_us=median,
        wall_median_us=median + 160,
        overhead_us=160,
        end_to_end_us=median + 160,
        unstable=False,
        launch_bound=False,
        tflops=work.flops / median / 1e6,
        gbytes_per_s=work.moved_bytes / median / 1e3,
        speed_of_light_us=light_us,
        fraction_of_speed_of_light=light_us / median,
        samples_us=tuple(draw.sample(times, len(times))),
    )


def timed(medians_us: tuple[float, ...], seed: str = "", **changed: object) -> Passed:
    """A verdict on the official benchmarks."""
    cases = tuple(
        CaseResult(
            index=index,
            m=case.m,
            n=case.n,
            k=case.k,
            distribution="official",
            outcome="passed",
            comparison=Comparison(107.4, 0.9, 0, 0, index != 2, None),
            timing=timing_of(case, median_us, f"{seed}-{index}"),
        )
        for index, (case, median_us) in enumerate(zip(PROBLEM.benchmarks, medians_us, strict=True))
    )
    logs = [math.log(case.timing.median_us) for case in cases if case.timing]
    verdict = Passed(
        summary=f"passed: {len(cases)} cases in 972 calls",
        cases=cases,
        environment=HERE,
        sandbox_level=2,
        emulated=False,
        score=Score(geomean_us=math.exp(sum(logs) / len(logs))),
        seed="9f" * 16,
        reproduce='{"m":[96]}',
    )
    return verdict.model_copy(update=changed)


def clocked(verdict: Passed, mhz: float, held: tuple[str, ...]) -> Passed:
    """The verdict, with what a driver told of the device meanwhile."""
    steady = Range(mhz, mhz, mhz)
    seen = Telemetry(9, steady, Range(2619, 2619, 2619), Range(50, 52, 54), steady, held)
    cases = tuple(
        case.model_copy(update={"timing": replace(case.timing, telemetry=seen)})
        for case in verdict.cases
    )
    return verdict.model_copy(update={"cases": cases})


V1 = timed((412, 190, 61, 38.4), "one", review=(ReviewFlag(line=4, word="ctypes", why="C code"),))
V2 = timed((371, 186, 55, 38.3), "two")


def in_turns(ratio: float, decision: str) -> Passed:
    """A comparison of V1 and V2 as mode `compare` finds it."""
    found = Ratio(ratio, ratio * 0.995, ratio * 1.005, 100, decision)
    cases = tuple(ComparedCase(index=b.index, b=b, ratio=found) for b in V2.cases)
    compared = Compared(overall=found, cases=cases, log=Log(stdout="B speaks\n", stdout_bytes=9))
    return V1.model_copy(update={"compared": compared})


def hostile() -> Incorrect:
    """A wrong kernel that prints markup, with markup wherever its own words go."""
    case = CaseResult(
        index=0,
        m=(96, 128),
        n=(128, 256),
        k=(256, 512),
        distribution="official",
        outcome="incorrect",
        reason="values",
        message=HOSTILE,
        comparison=Comparison(3.5, 0.2, 129, 1, False, Worst(1, 71, 3, "NaN", 12.0)),
    )
    return Incorrect(
        summary=HOSTILE,
        reason="values",
        message=HOSTILE,
        cases=(case,),
        environment=HERE.model_copy(update={"gpu": None, "device": "cpu"}),
        sandbox_level=1,
        emulated=True,
        log=Log(stdout=HOSTILE, stderr=HOSTILE, stdout_bytes=90, stderr_bytes=90, truncated=True),
        reproduce=HOSTILE,
    )


def worker() -> WorkerInfo:
    return WorkerInfo(
        id="gpu-03-1a",
        pid=1,
        host="gpu-03",
        device="H200",
        serves=("H200", "any"),
        gpu=GPU,
        python="3.11",
        sandbox_level=2,
    )


async def finished(
    queue: JobQueue, verdict: Verdict, owner: str = "anonymous", source: bytes | None = FILE
) -> str:
    """Submit, claim and finish a job; return its id."""
    submission = Submission(
        problem=PROBLEM.name,
        mode=Mode.BENCHMARK,
        cases=official_cases(PROBLEM, Mode.BENCHMARK),
        kernel=None if source else "portable",
        source=source,
        filename="kernel.py" if source else None,
    )
    job = await queue.submit(submission, owner)
    lease = await queue.claim(worker(), wait_s=10)
    assert lease is not None
    assert lease.job.id == job.id
    await queue.finish(lease, verdict)
    return job.id
