"""What `trust.py` and `do_bench.py` found, as a table for docs/judging.md.

python bench/h200/trust_table.py trust.json do_bench.json
"""

import json
import sys
from pathlib import Path

OTHERS = ("nothing", "zero", "matmul", "pinned", "own_streams", "early")
FEW_US, SHARE = 1.5, 0.04
"""Events may be as far from `do_bench`, whichever is more."""


def row(name: str, timing: dict, other: dict | None) -> str:
    event_us = timing["event_median_us"]
    apart_us = timing["wall_median_us"] - event_us
    beside, near = "", ""
    if other is not None:
        other_us = other["12"]["median_us"]
        beside = f"{other_us:.1f}"
        near = "yes" if abs(event_us - other_us) <= max(FEW_US, SHARE * other_us) else "NO"
    excess_us = apart_us - timing["overhead_us"]
    low_us, high_us = (
        timing[each] + timing.get("correction_us", 0) for each in ("p10_us", "p90_us")
    )
    events = f"{event_us:.1f} [{low_us:.1f}, {high_us:.1f}]"
    apart = f"{apart_us:.1f} ({excess_us:+.1f})"
    return f"| {name} | {events} | {beside} | {near} | {apart} | {timing['method']} |"


def main() -> None:
    found, others = (json.loads(Path(path).read_text()) for path in sys.argv[1:3])
    print("| kernel | events, us | do_bench, us | near | wall less event (excess), us | method |")
    print("|---|---|---|---|---|---|")
    for size, case in found.get("portable", {}).get("cases", {}).items():
        if case["timing"]:
            print(row(f"portable, {size}", case["timing"], others.get(f"portable:{size}")))
    for name in (*OTHERS, "portable"):
        for size in ("two_groups", "official_2"):
            sampled = found.get(f"{name}:{size}")
            if sampled:
                what = f"{name}:{size}"
                print(row(what, sampled["timing"], others.get(what)))
    for each in found.get("calibrations", ()):
        print({key: each[key] for key in ("overhead_us", "spread_us", "delta_us", "flush_us")})
    print("repeats:", found.get("repeats"))
    print("after bad neighbours:", found.get("after bad neighbours"), "proof:", found.get("proof"))
    for name, job in found.items():
        if name.startswith("gpu_") or name == "hog":
            print(name, job["failure"] or "passed")


if __name__ == "__main__":
    main()
