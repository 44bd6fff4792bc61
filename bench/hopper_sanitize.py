"""Small cases for compute-sanitizer: every way a tile can end, shared tiles, many groups.

    compute-sanitizer --tool memcheck --report-api-errors no python3 bench/hopper_sanitize.py
    compute-sanitizer --tool racecheck python3 bench/hopper_sanitize.py --every-lane
    compute-sanitizer --tool initcheck python3 bench/hopper_sanitize.py --few

Ends with 1 where an output is outside the bound. PyTorch's own kernels run under the tool too, and
CUDA's bindings ask the driver for functions that it does not have, which are errors of its API.
Initcheck must follow every kernel and is slow, so it gets `--few` sizes that are not compared.

Racecheck does not follow what one lane does behind `__syncwarp` for its warp: bench/h200/race.cu
has a correct ring of a few lines in which it sees hazards for that alone. `--every-lane` changes
the kernel so that each lane arrives and one lane stores zeros.
"""

import argparse
import sys
from typing import Any

import torch

from bench.kernel_times import outputs_of
from kernels import hopper_device
from kernels.compare import compare
from kernels.group_table import read_groups
from kernels.hopper_device import HopperDevice
from kernels.hopper_plan import candidates
from kernels.layout import submission_data
from kernels.operands import draw
from kernels.problem import Case

CASES = (
    Case((1, 70, 130), (72, 200, 128), (96, 1056, 2048), distribution="full_range"),
    Case((40,), (128,), (4096,)),
    Case((3, 17) * 20, (136, 100) * 20, (32, 288) * 20),
)
FEW = (Case((1, 70), (72, 200), (96, 1056)),)


def is_right(device: HopperDevice, case: Case, blocks: int, cuts: bool, comparing: bool) -> bool:
    operands = [group.to("cuda") for group in draw(case, 1)]
    outputs = outputs_of(case)
    table = read_groups(submission_data(operands, outputs))
    plans = [plan for plan in candidates(table.shapes, blocks) if plan.widths == (16, 32, 64, 128)]
    call = device.prepare(
        table.shapes, max(plans, key=lambda plan: plan.cuts * (1 if cuts else -1))
    )
    device.run(call, table.addresses)
    torch.cuda.synchronize()
    if not comparing:
        return all(output.isfinite().all() for output in outputs)
    return compare(outputs, operands, official=case.distribution == "official").within_bound


EVERY_LANE = {
    "if (threadIdx.x % 32 == 0) barrier_arrive(me.rings.stage_empty": (
        "barrier_arrive(me.rings.stage_empty"
    ),
    "barrier_init(rings.stage_empty(i), CONSUMERS / 32)": (
        "barrier_init(rings.stage_empty(i), CONSUMERS)"
    ),
    "scale_bytes + lane * 16; byte < 2048; byte += 512": (
        "scale_bytes; lane == 0 && byte < 2048; byte += 16"
    ),
}


def let_every_lane_arrive() -> None:
    compile_cubin = hopper_device.compile_cubin

    def compile_changed(source: str, *rest: Any) -> Any:  # noqa: ANN401
        for old, new in EVERY_LANE.items():
            assert source.count(old) == 1, old
            source = source.replace(old, new)
        return compile_cubin(source, *rest)

    hopper_device.compile_cubin = compile_changed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every-lane", action="store_true")
    parser.add_argument("--few", action="store_true")
    wanted = parser.parse_args()
    if wanted.every_lane:
        let_every_lane_arrive()
    torch.cuda.init()
    device = HopperDevice(torch.cuda.current_device())
    wrong = [
        (case, blocks, cuts)
        for case in (FEW if wanted.few else CASES)
        for blocks, cuts in ((132, False), (5, True))
        if not is_right(device, case, blocks, cuts, comparing=not wanted.few)
    ]
    sys.exit(f"wrong: {wrong}" if wrong else 0)


if __name__ == "__main__":
    main()
