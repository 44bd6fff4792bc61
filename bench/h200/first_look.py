"""A judge on this machine's GPU, without Redis or HTTP: start-up, official cases, times."""

import json
import sys
import time
from pathlib import Path

from contract.limits import Limits
from contract.submission import Mode
from contract.verdict import Verdict
from kernels.problems import NVFP4_GROUP_GEMM
from tests.worker.judge_harness import running_judge
from worker.settings import WorkerSettings

OUT = Path(sys.argv[1])
KERNELS = sys.argv[2:] or ["portable"]
HONEST = Path("tests/candidates/honest_torch.py").read_bytes()


def summary(verdict: Verdict) -> dict[str, object]:
    return {
        "summary": verdict.summary,
        "log": verdict.log.stderr[-1500:],
        "cases": [
            {
                "outcome": case.outcome,
                "message": case.message,
                "bit_exact": case.comparison and case.comparison.bit_exact,
                "timing": case.timing
                and {
                    name: getattr(case.timing, name)
                    for name in case.timing.__dataclass_fields__
                    if name != "samples_us"
                },
            }
            for case in verdict.cases
        ],
    }


def main() -> None:
    found: dict[str, object] = {}
    started = time.monotonic()
    with running_judge(WorkerSettings()) as judge:
        found["start_s"] = time.monotonic() - started
        found["environment"] = judge.ready.environment.model_dump()
        found["serves"] = judge.ready.serves
        found["sandbox_level"] = judge.ready.sandbox_level
        print(json.dumps(found, indent=1), flush=True)
        jobs = [(name, {"kernel": name}) for name in KERNELS] + [("torch", {"source": HONEST})]
        for name, what in jobs:
            for mode, cases in (
                (Mode.TEST, NVFP4_GROUP_GEMM.tests),
                (Mode.BENCHMARK, NVFP4_GROUP_GEMM.benchmarks),
            ):
                began = time.monotonic()
                verdict = judge.judge(cases=cases, mode=mode, limits=Limits(), **what)
                took_s = time.monotonic() - began
                found[f"{name} {mode}"] = {"took_s": took_s, **summary(verdict)}
                print(name, mode, took_s, verdict.summary[:300], flush=True)
                for case in verdict.cases:
                    if case.timing:
                        print(
                            "  ",
                            case.timing.median_us,
                            case.timing.p10_us,
                            case.timing.p90_us,
                            case.timing.wall_median_us,
                            case.timing.method,
                            case.timing.samples,
                            case.timing.launch_bound,
                            flush=True,
                        )
                OUT.write_text(json.dumps(found, indent=1, default=str))


if __name__ == "__main__":
    main()
