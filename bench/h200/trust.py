"""The judge's times beside an independent tool's, on the same kernels and sizes in one run.

    python bench/h200/trust.py OUT.json [KERNEL ...]

Each kernel is timed by the judge through the whole road (sandbox, arena, cold caches), and by
`triton.testing.do_bench` in a process of its own. `do_bench` flushes the caches as well, but calls
the kernel again and again on one set of operands.
"""

import json
import subprocess
import sys
from pathlib import Path

from contract.submission import Limits, Mode
from kernels.catalog import MODULES
from kernels.problem import Case
from kernels.problems import NVFP4_GROUP_GEMM
from tests.worker.judge_harness import running_judge
from worker.settings import WorkerSettings

CASES = (
    Case(m=(64,), n=(256,), k=(256,)),
    Case(m=(128, 128), n=(512, 512), k=(512, 512)),
    Case(m=(128,) * 4, n=(1024,) * 4, k=(1024,) * 4),
    *NVFP4_GROUP_GEMM.benchmarks,
)
IN_A_PROCESS = """
import json, sys, torch, triton, importlib
from kernels.layout import submission_data
from kernels.operands import draw, GroupOperands
from bench.h200.trust import CASES
module = importlib.import_module(sys.argv[1])
found = []
for case in CASES:
    operands = draw(case, 1)
    names = ("a", "b", "sfa", "sfb", "sfa_blocked", "sfb_blocked")
    on_device = [GroupOperands(*(getattr(g, n).cuda() for n in names)) for g in operands]
    outputs = [torch.empty(m, n, device="cuda").half() for m, n, _ in case.groups]
    data = submission_data(on_device, outputs)
    run = lambda: module.custom_kernel(data)
    run()
    p20, median, p80 = triton.testing.do_bench(run, warmup=50, rep=200, quantiles=[0.2, 0.5, 0.8])
    found.append({"median_us": median * 1e3, "p20_us": p20 * 1e3, "p80_us": p80 * 1e3})
print(json.dumps(found))
"""


def main() -> None:
    """Time everything both ways and write the ratios."""
    out = Path(sys.argv[1])
    found = {}
    with running_judge(WorkerSettings()) as judge:
        environment = judge.ready.environment.model_dump()
        for name in sys.argv[2:] or ["portable"]:
            verdict = judge.judge(cases=CASES, mode=Mode.BENCHMARK, kernel=name, limits=Limits())
            child = subprocess.run(
                [sys.executable, "-c", IN_A_PROCESS, MODULES[name]],
                capture_output=True,
                text=True,
                check=False,
            )
            print(name, verdict.summary, child.stderr[-2000:], flush=True)
            rows = []
            for case, other in zip(verdict.cases, json.loads(child.stdout or "[]"), strict=False):
                timing = case.timing
                row = {
                    "m": case.m,
                    "n": case.n[0],
                    "k": case.k[0],
                    "outcome": case.outcome,
                    "message": case.message,
                    "do_bench": other,
                }
                if timing is not None:
                    row |= {name: getattr(timing, name) for name in timing.__dataclass_fields__}
                    row["ratio"] = timing.event_median_us / other["median_us"]
                    print(
                        f"  {timing.median_us:8.2f} us [{timing.p10_us:.2f}, {timing.p90_us:.2f}] "
                        f"do_bench {other['median_us']:8.2f}  ratio {row['ratio']:.3f}  "
                        f"wall-event {timing.wall_median_us - timing.event_median_us:.1f} "
                        f"of {timing.overhead_us:.1f} "
                        f"{timing.method} n={timing.samples} launch_bound={timing.launch_bound}",
                        flush=True,
                    )
                rows.append(row)
            found[name] = {"summary": verdict.summary, "rows": rows}
    out.write_text(json.dumps({"environment": environment, "kernels": found}, indent=1))


if __name__ == "__main__":
    main()
