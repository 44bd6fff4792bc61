"""Wall less event on a GPU: where the overhead and its spread come from."""

import json
import os
import statistics
import sys
from pathlib import Path

from contract.submission import Limits
from kernels.problem import Case
from worker import gpu
from worker.calls import Calls
from worker.device import Gpu
from worker.runner_process import RunnerProcess
from worker.sandbox.choose import choose
from worker.settings import WorkerSettings

ZERO = b"""
def custom_kernel(data):
    outputs = [c for _, _, c in data[0]]
    for output in outputs:
        output.zero_()
    return outputs
"""
MATMUL = b"""
import torch
a = torch.randn(1024, 7168, device="cuda").half()
b = torch.randn(7168, 4096, device="cuda").half()
def custom_kernel(data):
    a @ b
    outputs = [c for _, _, c in data[0]]
    for output in outputs:
        output.zero_()
    return outputs
"""
SMALL = Case(m=(128,), n=(256,), k=(16,))
LARGE = Case(m=(2048,), n=(8192,), k=(16,))
HEAVY = Case(m=(128, 128), n=(4096, 4096), k=(7168, 7168))
CALLS = 22


def quantiles(values: list[float]) -> dict[str, float]:
    deciles = statistics.quantiles(values, n=10)
    return {"p10": deciles[0], "median": statistics.median(values), "p90": deciles[8]}


def main() -> None:
    device = Gpu(WorkerSettings())
    sandbox = choose(device.sandbox, device.environment)
    limits = Limits()
    never = os.eventfd(0)
    rows = []
    for source_name, source in (("zero", ZERO), ("matmul", MATMUL)):
        runner = RunnerProcess(sandbox, device.environment, limits)
        runner.wait_ready(never)
        calls = Calls(runner, device.ground, device.road(None), limits, never)
        assert calls.open(source, (SMALL, LARGE, HEAVY)) is None
        for warm_s in (0.005,):
            gpu.WARM_S = warm_s
            for case_name, case in (("small", SMALL), ("large", LARGE), ("heavy", HEAVY)):
                samples = [calls.call(case, "official", seed).sample for seed in range(CALLS)][5:]
                row = {
                    "source": source_name,
                    "warm_ms": warm_s * 1e3,
                    "case": case_name,
                    "event": quantiles([s.event_us for s in samples]),
                    "overhead": quantiles([s.wall_us - s.event_us for s in samples]),
                    "host": quantiles([s.host_us for s in samples]),
                }
                rows.append(row)
                print(
                    source_name,
                    warm_s,
                    case_name,
                    *(
                        f"{k} {v['p10']:.1f}/{v['median']:.1f}/{v['p90']:.1f}"
                        for k, v in row.items()
                        if isinstance(v, dict)
                    ),
                    flush=True,
                )
        calls.close()
        runner.close()
    Path(sys.argv[1]).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
