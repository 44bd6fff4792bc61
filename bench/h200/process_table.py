"""What processes of `bench/h200/process_study.py` have in common, and what they have not.

python bench/h200/process_table.py STUDY.json
"""

import json
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.h200.process_probe import SIZES, STEPS, WARM_UP, order_of_steps

SHOWN = STEPS[:9]
"""Of these the table of processes shows medians."""
OF_INTEREST = "T portable touch", "O portable touch"
STAMPS = ("lead to first", "first to last", "blocks", "end to tail", "stamps")
"""From the lead to the first block, to the begin of the last; first begin to last end; from there
to the tail; and all of it, from lead to tail."""
HEADING = (
    *("nothing", "twice", "spin", "read", "upload", "upl'ed", "portab", "O upl'd", "O port"),
    *("lead-1", "1-last", "blocks", "-tail", "stamps", "wall noth", "T port", "O port", "core"),
)

Rows = dict[str, list[tuple[float, float]]]
"""Of each step, call by call: what the runner's events say, what the judge's clock says."""
Process = dict[str, Any]


def show_process(number: int, found: Process) -> None:
    """Print medians of one, in the order of the heading."""
    middle = medians(found["rows"], "event")
    line = [f"{middle[step]:6.2f}" for step in SHOWN]
    two = [each for each, step in stamped_of(found) if step[0] == "T"]
    if two:
        line += [f"{statistics.median(part) / 1e3:6.2f}" for part in zip(*two, strict=True)]
    walls = medians(found["rows"], "wall")
    line += [f"{walls[step]:7.1f}" for step in ("T nothing touch", *OF_INTEREST)]
    print(f"{number:2} {found['kind']:6.6}", *line, found["core"], *found["broken"], flush=True)


def stamped_of(found: Process) -> Iterator[tuple[list[int], str]]:
    """Yield the stamps of a call with its step, those of warm calls only."""
    steps = [STEPS[step] for step in order_of_steps() if "stamped" in STEPS[step]]
    cold = WARM_UP * sum("stamped" in step for step in STEPS)
    yield from list(zip(found["stamps_ns"], steps, strict=False))[cold:]


def medians(rows: Rows, what: str) -> dict[str, float]:
    """Return the median of every step by one of the two clocks, or of their difference."""
    found = defaultdict(lambda: float("nan"))
    for step, calls in rows.items():
        known = {
            "event": [event_us for event_us, _ in calls],
            "wall": [wall_us for _, wall_us in calls],
            "apart": [wall_us - event_us for event_us, wall_us in calls],
        }
        found[step] = statistics.median(known[what])
    return found


def figures_of(processes: Sequence[Process]) -> dict[str, list[float]]:
    """Return, under a name, a figure of every process."""
    found: dict[str, list[float]] = {}
    events = [medians(each["rows"], "event") for each in processes]
    for step in STEPS:
        found[step] = [each[step] for each in events]
    for size in SIZES:
        for place, name in enumerate(STAMPS):
            found[f"{size} {name}"] = [
                statistics.median(
                    [each[place] / 1e3 for each, at in stamped_of(one) if at[0] == size]
                )
                for one in processes
            ]
        stamped, whole = found[f"{size} stamped stamp"], found[f"{size} stamps"]
        found[f"{size} event less stamps"] = [a - b for a, b in zip(stamped, whole, strict=True)]
        portable = found[f"{size} portable touch"]
        for other in ("T nothing touch", "T upload touch"):
            found[f"{size} portable less {other[2:-6]}"] = [
                a - b for a, b in zip(portable, found[other], strict=True)
            ]
        for clock in ("wall", "apart"):
            step = f"{size} portable touch"
            found[f"{size} portable, {clock}"] = [
                medians(each["rows"], clock)[step] for each in processes
            ]
    return found


def halves(processes: Sequence[Process], step: str) -> float:
    """Return how far the two halves of one process lie apart, the median of all."""
    apart = []
    for each in processes:
        times = [event_us for event_us, _ in each["rows"][step]]
        middle = len(times) // 2
        one, other = times[:middle], times[middle:]
        apart.append(abs(statistics.median(one) - statistics.median(other)))
    return statistics.median(apart)


def correlation(one: Sequence[float], other: Sequence[float]) -> float:
    try:
        return statistics.correlation(one, other)
    except statistics.StatisticsError:
        return float("nan")


def show_figures(processes: Sequence[Process]) -> None:
    """Print of every figure how it lies over processes, and what it has to do with the fault."""
    found = figures_of(processes)
    places = Counter(each["places"][0][0] for each in processes if each["places"])
    print("T stamped: the multiprocessors of its blocks, in how many processes:", places)
    print("figure: median, least and most beside it in us, most in %, standard deviation,")
    print("  halves of one process apart, correlation with", *OF_INTEREST, sep="  ")
    for name, values in found.items():
        middle = statistics.median(values)
        low, high = min(values) - middle, max(values) - middle
        apart = f"{halves(processes, name):5.2f}" if name in STEPS else "     "
        related = (f"{correlation(values, found[step]):5.2f}" for step in OF_INTEREST)
        print(
            f"{name:24} {middle:7.2f} {low:+6.2f} {high:+6.2f} {high / middle:+6.1%} "
            f"{statistics.pstdev(values):5.2f} {apart}",
            *related,
            flush=True,
        )


def main() -> None:
    processes = json.loads(Path(sys.argv[1]).read_text())["processes"]
    for number, found in enumerate(processes):
        show_process(number, found)
    show_figures([each for each in processes if each["kind"] == "plain"])


if __name__ == "__main__":
    main()
