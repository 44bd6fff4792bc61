"""The official cases with the kernel that `auto` takes, through the judge and its sandbox.

    python bench/h200/hopper_judged.py OUT.json

To be held against `ours` of bench/kernel_times.py, run beside it: both find operands and code cold.
"""

import sys
from pathlib import Path

from bench.h200.trust import Bench
from contract.limits import Limits
from contract.submission import Mode
from kernels.catalog import candidate_source

SIZES = ("official_1", "official_2", "official_3", "official_4")


def main() -> None:
    """Judge once and print the medians."""
    bench = Bench(Path(sys.argv[1]), 2, 60.0)
    bench.calibration = bench.calibrate()
    judged = bench.judge("auto", SIZES, candidate_source("auto"), Limits(), Mode.BENCHMARK)
    print(judged.failure, flush=True)
    for name, case in zip(SIZES, judged.cases, strict=False):
        print(name, case.outcome, case.reason, case.timing and case.timing.median_us, flush=True)


if __name__ == "__main__":
    main()
