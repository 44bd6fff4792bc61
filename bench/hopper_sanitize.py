"""Small cases for compute-sanitizer: every way a tile can end, shared tiles, many groups.

    compute-sanitizer --tool memcheck python3 bench/hopper_sanitize.py

Ends with 1 where an output is outside the bound. PyTorch's own kernels run under the tool too.
"""

import sys

import torch

from bench.kernel_times import NAMES, outputs_of
from kernels.compare import compare
from kernels.group_table import read_groups
from kernels.hopper_device import HopperDevice
from kernels.hopper_plan import candidates
from kernels.layout import submission_data
from kernels.operands import GroupOperands, draw
from kernels.problem import Case

CASES = (
    Case((1, 70, 130), (72, 200, 128), (96, 1056, 2048), distribution="full_range"),
    Case((40,), (128,), (4096,)),
    Case((3, 17) * 20, (136, 100) * 20, (32, 288) * 20),
)


def is_right(device: HopperDevice, case: Case, blocks: int, cuts: bool) -> bool:
    operands = [
        GroupOperands(*(getattr(group, name).cuda() for name in NAMES)) for group in draw(case, 1)
    ]
    outputs = outputs_of(case)
    table = read_groups(submission_data(operands, outputs))
    plans = [plan for plan in candidates(table.shapes, blocks) if plan.widths == (16, 32, 64, 128)]
    call = device.prepare(
        table.shapes, max(plans, key=lambda plan: plan.cuts * (1 if cuts else -1))
    )
    device.run(call, table.addresses)
    torch.cuda.synchronize()
    return compare(outputs, operands, official=case.distribution == "official").within_bound


def main() -> None:
    torch.cuda.init()
    device = HopperDevice(torch.cuda.current_device())
    wrong = [
        (case, blocks, cuts)
        for case in CASES
        for blocks, cuts in ((132, False), (5, True))
        if not is_right(device, case, blocks, cuts)
    ]
    sys.exit(f"wrong: {wrong}" if wrong else 0)


if __name__ == "__main__":
    main()
