"""What a first call of the Hopper kernel does on the host: plan and compile. Needs no GPU.

    .venv/bin/python -m bench.first_calls [--out bench/results/first_calls.json]

Each official case in two fresh processes: with an empty compile cache, and with what the first one
left there.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from bench.report import keep
from kernels import hopper_plan
from kernels.hopper_device import machine_code
from kernels.problems import NVFP4_GROUP_GEMM

MULTIPROCESSORS = 132
"""Of an H200."""


def in_this_process(number: int, cache: Path) -> dict[str, float]:
    """Return the seconds of both steps for one official case."""
    began_s = time.perf_counter()
    shapes = tuple(NVFP4_GROUP_GEMM.benchmarks[number - 1].groups)
    plan = hopper_plan.make_plan(shapes, MULTIPROCESSORS)
    planned_s = time.perf_counter()
    machine_code(plan.widths, cache)
    coded_s = time.perf_counter()
    return {"plan_s": round(planned_s - began_s, 4), "code_s": round(coded_s - planned_s, 4)}


def in_fresh_process(number: int, cache: str) -> dict[str, float]:
    """Return the same from a process of its own."""
    command = [sys.executable, "-m", "bench.first_calls", "--case", str(number), "--cache", cache]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Measure all, or one step of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--case", type=int)
    parser.add_argument("--cache", type=Path)
    wanted = parser.parse_args()
    if wanted.case is not None:
        print(json.dumps(in_this_process(wanted.case, wanted.cache)))
        return
    cases = {}
    for number in range(1, len(NVFP4_GROUP_GEMM.benchmarks) + 1):
        with tempfile.TemporaryDirectory() as cache:
            cases[f"official_{number}"] = {
                "empty_cache": in_fresh_process(number, cache),
                "kept_code": in_fresh_process(number, cache),
            }
    machine = {
        "cpu": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "nvrtc": version("nvidia-cuda-nvrtc"),
    }
    keep({"machine": machine, "cases": cases}, wanted.out)


if __name__ == "__main__":
    main()
