"""Each problem's built-in kernel on a GPU, through the judge: right, and how fast.

    python bench/h200/problems.py OUT.json [PROBLEM ...]

Of every problem the smallest official test, a ragged batch on full-range operands and the lightest
official benchmark, all of them timed, in one job. No job is started after `START_S`, so that a slow
machine costs problems and not minutes; what was left out is said.
"""

import dataclasses
import json
import sys
import time
from pathlib import Path

from contract.limits import Limits
from contract.submission import Mode
from kernels.problem import Case, Problem
from kernels.problems import PROBLEMS
from tests.worker.judge_harness import running_judge
from worker.settings import WorkerSettings

START_S = 45.0
KERNEL = "auto"


def cases_of(problem: Problem) -> tuple[Case, ...]:
    ragged = Case(
        m=(130,),
        n=(1 if problem.vector else 129,),
        k=(272,),
        l=1 if problem.grouped else 3,
        distribution="full_range",
        poison_padding=True,
    )
    test, benchmark = (
        min(cases, key=problem.work) for cases in (problem.tests, problem.benchmarks)
    )
    return test, ragged, benchmark


def main() -> None:
    out, wanted = Path(sys.argv[1]), sys.argv[2:] or list(PROBLEMS)
    began = time.monotonic()
    found: dict[str, object] = {}
    with running_judge(WorkerSettings()) as judge:
        environment = judge.ready.environment.model_dump()
        print(f"ready after {time.monotonic() - began:.1f} s", flush=True)
        for name in wanted:
            started = time.monotonic()
            if started - began > START_S:
                found[name] = "left out: no time"
                print(name, found[name], flush=True)
                continue
            verdict = judge.judge(
                cases=cases_of(PROBLEMS[name]),
                kernel=KERNEL,
                mode=Mode.BENCHMARK,
                limits=Limits(),
                problem=name,
            )
            rows = [case.model_dump(mode="json") for case in verdict.cases]
            for case, row in zip(verdict.cases, rows, strict=True):
                row["timing"] = case.timing and dataclasses.asdict(case.timing)
            took_s = time.monotonic() - started
            found[name] = {"summary": verdict.summary, "took_s": took_s, "cases": rows}
            print(name, f"{took_s:.1f} s", verdict.summary, verdict.log.stderr[-2000:], flush=True)
            for case in verdict.cases:
                sizes = f"m={case.m} n={case.n} k={case.k} l={case.l}"
                timing = case.timing
                time_us = timing and (
                    f"{timing.median_us:.2f} us, {timing.fraction_of_speed_of_light:.2f} of light, "
                    f"n={timing.samples} {timing.method}"
                )
                print("   ", sizes, case.outcome, time_us, case.message or "", flush=True)
    took_s = time.monotonic() - began
    report = {"environment": environment, "kernel": KERNEL, "took_s": took_s, "problems": found}
    out.write_text(json.dumps(report, indent=1))
    print(f"{took_s:.1f} s in all", flush=True)


if __name__ == "__main__":
    main()
