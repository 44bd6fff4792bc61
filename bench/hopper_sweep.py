"""Random legal sizes through the public call against the reference, until the time is up.

    python3 bench/hopper_sweep.py [--seconds 40] [--kernel hopper] [--out FILE]

1..12 groups, m 0..300, n 1..600, k 16..2048 in 16s, official and full-range operands, with and
without poisoned padding; before that the named cases of the tests. Ends with 1 where an output is
outside the bound, after naming the case.
"""

import argparse
import json
import random
import sys
import time
from importlib import import_module
from pathlib import Path

import torch

from bench.kernel_times import outputs_of
from kernels.catalog import MODULES
from kernels.compare import compare
from kernels.layout import submission_data
from kernels.operands import draw
from kernels.problem import Case
from tests.kernels.kernel_cases import ANY, MANY_GROUPS, MOST_GROUPS, OFFICIAL


def is_right(kernel: str, case: Case, seed: int) -> bool:
    operands = [group.to("cuda") for group in draw(case, seed)]
    outputs = outputs_of(case)
    data = submission_data(operands, outputs)
    for _ in range(2):
        for output in outputs:
            output.fill_(torch.nan)
        import_module(MODULES[kernel]).custom_kernel(data)
        if not compare(outputs, operands, official=case.distribution == "official").within_bound:
            return False
    return True


def any_case(source: random.Random) -> Case:
    groups = source.randint(1, 12)
    step = source.choice((16, 32, 32, 32))  # most of them where the kernel does not refuse
    return Case(
        tuple(source.randint(0, 300) for _ in range(groups)),
        tuple(source.randint(1, 600) for _ in range(groups)),
        tuple(source.randint(1, 2048 // step) * step for _ in range(groups)),
        distribution=source.choice(("official", "full_range")),
        poison_padding=source.random() < 0.5,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", default="hopper", choices=MODULES)
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    wanted = parser.parse_args()
    source = random.Random(wanted.seed)
    named = [*OFFICIAL.values(), *ANY.values(), MANY_GROUPS, MOST_GROUPS]
    stop_s = time.monotonic() + wanted.seconds
    wrong: list[str] = []
    tried = 0
    while named or time.monotonic() < stop_s:
        case = named.pop() if named else any_case(source)
        tried += 1
        if not is_right(wanted.kernel, case, tried):
            wrong.append(repr(case))
            print("wrong:", case, flush=True)
    report = {"kernel": wanted.kernel, "seed": wanted.seed, "tried": tried, "wrong": wrong}
    print(f"{tried} cases, {len(wrong)} wrong")
    if wanted.out:
        wanted.out.write_text(json.dumps(report, indent=1) + "\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
