"""Whether the judge's times can be trusted: repeats, pairs of the same file, bad neighbours.

    python bench/h200/trust.py OUT.json [REPEATS]

One judge does everything, one job after the other, as in life. `portable` is timed on sizes from
15 to 600 us (`bench/h200/do_bench.py` times the same). Then one file is judged again and again with
another job in between, and bad neighbours have their turn between two good jobs.
"""

import dataclasses
import json
import statistics
import sys
import time
from pathlib import Path

from bench.h200.honest import CASES
from contract.submission import Limits, Mode
from contract.verdict import Verdict
from tests.worker.judge_harness import JudgeHarness, running_judge
from worker.settings import WorkerSettings

CANDIDATES = Path("tests/candidates")
OTHER = (CANDIDATES / "honest_torch.py").read_bytes()
HOG = b"""
import os, time
import torch
def custom_kernel(data):
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
    free, _ = torch.cuda.mem_get_info()
    kept = torch.empty(int(free * 0.95), dtype=torch.uint8, device="cuda")
    hoard = []
    while True:
        hoard.append(bytearray(64 << 20))
"""
REPEATED = ("official_4", "official_3")
SHORT = Limits(call_s=3, memory_bytes=4 << 30)


class Record:
    """What was found so far, written as it comes."""

    def __init__(self, out: Path, judge: JudgeHarness) -> None:
        self._out = out
        self._judge = judge
        self.found: dict[str, object] = {}

    def judged(self, name: str, sizes: tuple[str, ...], **what: object) -> Verdict:
        """Judge, print and keep."""
        began = time.monotonic()
        cases = tuple(CASES[size] for size in sizes)
        verdict = self._judge.judge(cases=cases, **{"limits": Limits(), **what})
        took_s = time.monotonic() - began
        rows = {
            size: {"outcome": case.outcome, "message": case.message}
            | (dataclasses.asdict(case.timing) if case.timing else {})
            for size, case in zip(sizes, verdict.cases, strict=True)
        }
        kind = type(verdict).__name__
        reason = getattr(verdict, "reason", None)
        self.keep(name, {"outcome": kind, "reason": reason, "took_s": took_s, "cases": rows})
        print(f"{name}: {kind} {reason or ''} {took_s:.1f} s {verdict.summary[:160]}", flush=True)
        for size, row in rows.items():
            if "median_us" in row:
                excess_us = row["wall_median_us"] - row["event_median_us"] - row["overhead_us"]
                print(
                    f"    {size:12} {row['median_us']:8.2f} us "
                    f"[{row['p10_us']:.2f}, {row['p90_us']:.2f}] "
                    f"excess {excess_us:6.1f} "
                    f"n={row['samples']} {row['method']} "
                    f"unstable={row['unstable']} launch_bound={row['launch_bound']}",
                    flush=True,
                )
        return verdict

    def keep(self, name: str, value: object) -> None:
        self.found[name] = value
        self._out.write_text(json.dumps(self.found))


def repeats(record: Record, count: int) -> None:
    """The same file again and again, and what two of its verdicts say of one another."""
    runs = []
    for number in range(count):
        verdict = record.judged(
            f"repeat {number}", REPEATED, kernel="portable", mode=Mode.BENCHMARK
        )
        runs.append([case.timing for case in verdict.cases])
        record.judged(f"other {number}", ("one_group",), source=OTHER, mode=Mode.BENCHMARK)
    found = {}
    for place, size in enumerate(REPEATED):
        medians = [run[place].median_us for run in runs]
        middle = statistics.median(medians)
        found[size] = {
            "medians_us": medians,
            "furthest": max(abs(median / middle - 1) for median in medians),
        }
    pairs = [
        (a, b)
        for one, two in zip(runs, runs[1:] + runs[:1], strict=True)
        for a, b in zip(one, two, strict=True)
    ]
    found["pairs"] = len(pairs)
    found["flagged"] = sum(a.p90_us < b.p10_us or b.p90_us < a.p10_us for a, b in pairs)
    record.keep("repeats", found)
    print("repeats:", json.dumps(found), flush=True)


def neighbours(record: Record) -> None:
    """A good job, bad ones, and the good one again."""
    good = {"kernel": "portable", "mode": Mode.BENCHMARK}
    before = record.judged("before", ("official_4",), **good)
    for name in ("gpu_harm_endless_kernel", "gpu_harm_illegal_address"):
        source = (CANDIDATES / f"{name}.py").read_bytes()
        record.judged(name, ("one_group",), source=source, limits=SHORT, mode=Mode.TEST)
        record.judged(f"after {name}", ("official_4",), **good)
    record.judged("hog", ("one_group",), source=HOG, limits=SHORT, mode=Mode.TEST)
    after = record.judged("after hog", ("official_4",), **good)
    ratio = after.cases[0].timing.median_us / before.cases[0].timing.median_us
    record.keep("after bad neighbours", ratio)
    print("after bad neighbours:", ratio, flush=True)


def main() -> None:
    """Do all of it."""
    with running_judge(WorkerSettings()) as judge:
        record = Record(Path(sys.argv[1]), judge)
        record.keep("environment", judge.ready.environment.model_dump())
        verdict = record.judged("portable", tuple(CASES), kernel="portable", mode=Mode.BENCHMARK)
        record.keep("calibration", verdict.model_dump(mode="json").get("calibration"))
        print("calibration:", record.found["calibration"], flush=True)
        neighbours(record)
        repeats(record, int(sys.argv[2]) if len(sys.argv) > 2 else 10)


if __name__ == "__main__":
    main()
