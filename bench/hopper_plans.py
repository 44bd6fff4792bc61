"""Times of all plans of the official cases, to set kernels/hopper_costs.py by.

    python3 bench/hopper_plans.py --out bench/results/hopper_plans_h200.json [--most 12]

For each case the plans that look fastest are timed, half of them cut and half of whole tiles. Chunk
times come from whole tiles of one width, two row tiles, at two depths: the slope is the time of a
chunk, what is left at depth zero is the time of a launch with one tile a block.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import torch

from bench.kernel_times import CASES, on_gpu, outputs_of
from kernels.group_table import GroupTable, read_groups
from kernels.hopper_costs import chunk_ns
from kernels.hopper_device import HopperDevice
from kernels.hopper_plan import CHUNK, ROWS, WIDTH_SETS, Plan, candidates
from kernels.layout import submission_data
from kernels.problem import Case
from kernels.timing import ColdClock

DEPTHS = (8, 32)


def median_us(clock: ColdClock, device: HopperDevice, table: GroupTable, plan: Plan) -> float:
    call = device.prepare(table.shapes, plan)
    samples = clock.measure(lambda: device.run(call, table.addresses), 15)
    return round(samples.median_us, 2)


def official(clock: ColdClock, device: HopperDevice, case: Case, most: int) -> list[dict[str, Any]]:
    table = read_groups(submission_data(on_gpu(case, "official"), outputs_of(case)))
    plans = sorted(candidates(table.shapes, device.blocks), key=lambda plan: plan.predicted_ns)
    chosen = [plan for plan in plans if plan.cuts][: most // 2]
    chosen += [plan for plan in plans if not plan.cuts][: most // 2]
    return [
        {
            "widths": plan.widths,
            "tiles": sorted({tiling.width for tiling in plan.tilings}),
            "blocks": len(plan.blocks),
            "cuts": plan.cuts,
            "predicted_us": round(plan.predicted_ns / 1e3, 2),
            "measured_us": median_us(clock, device, table, plan),
        }
        for plan in chosen
    ]


def chunk_times(clock: ColdClock, device: HopperDevice) -> list[dict[str, Any]]:
    rows = []
    for width in sorted({width for widths in WIDTH_SETS for width in widths}):
        times = []
        for chunks in DEPTHS:
            case = Case((2 * width,), (ROWS * (device.blocks // 2),), (chunks * CHUNK,))
            table = read_groups(submission_data(on_gpu(case, "official"), outputs_of(case)))
            plan = next(
                plan
                for plan in candidates(table.shapes, device.blocks)
                if plan.tilings[0] == (width, width, 2) and not plan.cuts
            )
            times.append(median_us(clock, device, table, plan))
        slope_us = (times[1] - times[0]) / (DEPTHS[1] - DEPTHS[0])
        rows.append(
            {
                "width": width,
                "chunk_ns": round(slope_us * 1e3),
                "assumed_ns": chunk_ns(width),
                "launch_us": round(times[0] - DEPTHS[0] * slope_us, 2),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=12)
    parser.add_argument("--out", type=Path)
    wanted = parser.parse_args()
    torch.cuda.init()
    clock, device = ColdClock(), HopperDevice(torch.cuda.current_device())
    report: dict[str, Any] = {"gpu": torch.cuda.get_device_name(), "empty_us": clock.empty_us}
    report["chunks"] = chunk_times(clock, device)
    for row in report["chunks"]:
        print(row, flush=True)
    for name, case in CASES.items():
        if name.startswith("official"):
            report[name] = official(clock, device, case, wanted.most)
            for row in sorted(report[name], key=lambda row: row["measured_us"])[:4]:
                print(name, row, flush=True)
    if wanted.out:
        wanted.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
