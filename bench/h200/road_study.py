"""Where the time of a call on a GPU goes, call by call: for whoever finds the times noisy.

    python bench/h200/road_study.py OUT.json

Each row is one call: what the runner says (event, host), what the judge's events say (the cover,
and from its end until the device was the judge's again), and when things happened on its host.
"""

import cProfile
import json
import pstats
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench.h200.honest import CASES, SOURCES, calls_of, ready_runners
from kernels.problem import Case
from worker import gpu
from worker.calls import Calls
from worker.device import Gpu
from worker.road import InSlot
from worker.sandbox.choose import choose
from worker.sandbox.confinement import Sandbox
from worker.settings import WorkerSettings
from worker.timed_road import TimedRoad

PLAN = (
    ("nothing", ("two_groups",)),
    ("zero", ("two_groups", "official_1")),
    ("matmul", ("two_groups",)),
    ("pinned", ("two_groups",)),
    ("own_streams", ("two_groups",)),
    ("portable", ("two_groups", "official_4", "official_3")),
    ("early", ("two_groups",)),
)
CALLS = 26
WARM_UP = 4


class Traced(gpu.GpuGround):
    """A ground that remembers when things happened."""

    def warm(self) -> None:
        self.row = {"touches_us": []}
        super().warm()

    def take_back(self) -> bool:
        began = time.perf_counter_ns()
        idle = super().take_back()
        self.row["take_back_us"] = (time.perf_counter_ns() - began) / 1e3
        return idle

    def _touch_us(self) -> float:
        took_us = super()._touch_us()
        self.row["touches_us"].append(took_us)
        return took_us

    def cover(self, slot: InSlot, word: int, token: int) -> None:
        self.started_ns = time.perf_counter_ns()
        super().cover(slot, word, token)
        self.row["enqueued_us"] = (time.perf_counter_ns() - self.started_ns) / 1e3

    def regain(self, write_word: Callable[[], None], stop_others: Callable[[], None]) -> bool:
        self.row["done_us"] = (time.perf_counter_ns() - self.started_ns) / 1e3
        return super().regain(write_word, stop_others)

    def spans(self) -> gpu.Spans:
        spans = super().spans()
        self.row |= {"covered_us": spans.covered_us, "away_us": spans.away_us}
        self.row["copied_us"] = self._back.elapsed_time(self._copied) * 1e3
        return spans


def shown(values: list[float]) -> str:
    deciles = statistics.quantiles(values, n=10)
    return f"{deciles[0]:7.1f}/{statistics.median(values):7.1f}/{deciles[8]:7.1f}"


SHOWN = (
    *("event_us", "host_us", "covered_us", "apart_us", "copied_us", "done_us", "take_back_us"),
    "enqueued_us",
)


def rows_of(calls: Calls, ground: Traced, case: Case, salt: int) -> list[dict[str, object]]:
    rows = []
    for number in range(CALLS):
        called = calls.call(case, "official", number + salt)
        sample = called.sample
        if sample is None:
            raise RuntimeError(str(called.failure))
        row = {"event_us": sample.event_us, "host_us": sample.host_us, **ground.row}
        row["apart_us"] = row["away_us"] - row["event_us"]
        rows.append(row)
    return rows


def profile_calls(sandbox: Sandbox, device: Gpu, ground: Traced) -> None:
    """Print where the time between two calls of the largest case goes."""
    (runner,) = ready_runners(sandbox, device, 1)
    case = CASES["official_1"]
    road = TimedRoad(ground, None)
    with calls_of(runner, device, road, SOURCES["zero"], [case]) as calls:
        calls.call(case, "official", 1)
        profile = cProfile.Profile()
        profile.enable()
        for number in range(6):
            calls.call(case, "official", 2 + number)
        profile.disable()
    pstats.Stats(profile).sort_stats("tottime").print_stats(24)


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
            for size in sizes:
                cell_began = time.monotonic()
                rows = rows_of(calls, ground, CASES[size], hash(size) & 0xFFFFFFFF)
                took_s = time.monotonic() - cell_began
                found.append({"source": name, "case": size, "rows": rows})
                print(
                    f"{name:9} {size:11}",
                    *(f"{key[:-3]} {shown([r[key] for r in rows[WARM_UP:]])}" for key in SHOWN),
                    f"{took_s:.1f} s",
                    flush=True,
                )
                out.write_text(json.dumps(found))
    profile_calls(sandbox, device, ground)


if __name__ == "__main__":
    main()
