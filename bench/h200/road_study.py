"""Where the time of a call on a GPU goes, call by call: for whoever finds the times noisy.

    python bench/h200/road_study.py OUT.json

Each row is one call: what the runner says (event, host), what the judge's events say (the cover,
and from its end until the device was the judge's again), and when things happened on its host.
"""

import cProfile
import itertools
import json
import pstats
import statistics
import sys
import time
from pathlib import Path

import torch

from bench.h200.honest import CASES, SOURCES, calls_of, ready_runners
from kernels.problem import Case
from worker import gpu
from worker.arena import Arena, Place
from worker.blame import Failure
from worker.calls import Calls
from worker.device import Gpu
from worker.ground import Image
from worker.sandbox.choose import choose
from worker.settings import WorkerSettings
from worker.timed_road import TimedRoad

PLAN = (
    ("zero", ("two_groups", "official_1")),
    ("nothing", ("two_groups",)),
    ("portable", ("two_groups", "official_4", "official_1")),
    ("pinned", ("two_groups",)),
    ("pageable", ("two_groups",)),
    ("busy", ("two_groups",)),
    ("matmul", ("two_groups",)),
    ("early", ("two_groups",)),
)
WARMTHS = {"flush": (None, 0.01), "short": (("matmul",), 0.003), "product": (("matmul",), 0.02)}
"""Ways to warm up, the only sources that are tried with them, and how long."""
CALLS = 26
WARM_UP = 4


class Traced(gpu.GpuGround):
    """A ground that remembers when things happened."""

    way = "flush"

    def __init__(self) -> None:
        super().__init__()
        self._factor = torch.randn((4096, 4096), device="cuda").half()

    def warm(self) -> None:
        self.row = {"touches_us": []}
        if self.way != "product":
            super().warm()
            return
        stop_s = time.perf_counter() + gpu.WARM_S
        while time.perf_counter() < stop_s:
            self._factor @ self._factor
            torch.cuda.synchronize()

    def take_back(self) -> bool:
        began = time.perf_counter_ns()
        idle = super().take_back()
        self.row["take_back_us"] = (time.perf_counter_ns() - began) / 1e3
        return idle

    def _touch_us(self) -> float:
        took_us = super()._touch_us()
        self.row["touches_us"].append(took_us)
        return took_us

    def cover(self, image: Image, arena: Arena, place: Place) -> None:
        self.started_ns = time.perf_counter_ns()
        super().cover(image, arena, place)
        self.row["enqueued_us"] = (time.perf_counter_ns() - self.started_ns) / 1e3

    def snapshot(self, after: Image, arena: Arena, place: Place) -> None:
        self.row["done_us"] = (time.perf_counter_ns() - self.started_ns) / 1e3
        super().snapshot(after, arena, place)
        self.row["copied_us"] = (time.perf_counter_ns() - self.started_ns) / 1e3

    def spans(self) -> gpu.Spans:
        spans = super().spans()
        self.row |= {"covered_us": spans.covered_us, "away_us": spans.away_us}
        return spans


def shown(values: list[float]) -> str:
    deciles = statistics.quantiles(values, n=10)
    return f"{deciles[0]:7.1f}/{statistics.median(values):7.1f}/{deciles[8]:7.1f}"


SHOWN = ("event_us", "host_us", "covered_us", "apart_us", "done_us", "take_back_us", "enqueued_us")


def rows_of(calls: Calls, ground: Traced, case: Case, salt: int) -> list[dict[str, object]]:
    rows = []
    for number in range(CALLS):
        called = calls.call(case, "official", number + salt)
        if isinstance(called, Failure):
            raise RuntimeError(str(called))
        sample = called.sample
        row = {"event_us": sample.event_us, "host_us": sample.host_us, **ground.row}
        rows.append(row | {"apart_us": row["away_us"] - row["event_us"]})
    return rows


def main() -> None:
    out = Path(sys.argv[1])
    began = time.monotonic()
    device = Gpu(WorkerSettings())
    device.ground = ground = Traced()
    sandbox = choose(device.sandbox, device.environment)
    runners = ready_runners(sandbox, device, len(PLAN))
    print("ready after", time.monotonic() - began, "staging", gpu.staging_cost(ground), flush=True)
    found = []
    for runner, (name, sizes) in zip(runners, PLAN, strict=True):
        cases = [CASES[size] for size in sizes]
        with calls_of(runner, device, TimedRoad(ground, None), SOURCES[name], cases) as calls:
            for size, (way, (tried, warm_s)) in itertools.product(sizes, WARMTHS.items()):
                if tried and name not in tried:
                    continue
                ground.way, gpu.WARM_S = way, warm_s
                cell_began = time.monotonic()
                rows = rows_of(calls, ground, CASES[size], hash((way, size)) & 0xFFFFFFFF)
                took_s = time.monotonic() - cell_began
                found.append({"source": name, "case": size, "warmth": way, "rows": rows})
                print(
                    f"{name:9} {size:11} {way:11}",
                    *(f"{key[:-3]} {shown([r[key] for r in rows[WARM_UP:]])}" for key in SHOWN),
                    f"{took_s:.1f} s",
                    flush=True,
                )
                out.write_text(json.dumps(found))
            if name == "portable":
                profile = cProfile.Profile()
                profile.runcall(rows_of, calls, ground, CASES["official_1"], 1 << 40)
                pstats.Stats(profile).sort_stats("tottime").print_stats(28)


if __name__ == "__main__":
    main()
