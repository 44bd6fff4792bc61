"""Nsight Compute's command line: how it is started, and its CSV as facts. Standard library only.

A profile is taken in one run and read in two: `--import` prints a report without the program that
it is of, so nothing that a candidate prints stands between the lines. What is read is the word of a
process that the candidate shares: held to a schema by the judge, and believed by nobody.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

SECTIONS: Final = (
    "SpeedOfLight",
    "LaunchStats",
    "Occupancy",
    "MemoryWorkloadAnalysis",
    "ComputeWorkloadAnalysis",
)
MOST_KERNELS: Final = 128
MARKER: Final = "spin_kernel"
"""The kernel of `torch.cuda._sleep`, launched before each case: where its kernels begin."""
HEADER: Final = '"ID",'
TIME_US: Final = {
    **{"ns": 1e-3, "nsecond": 1e-3, "us": 1.0, "usecond": 1.0, "ms": 1e3, "msecond": 1e3},
    **{"s": 1e6, "second": 1e6},
}
BYTES: Final = {
    f"{prefix}byte{per}": scale
    for prefix, scale in (("", 1.0), ("K", 1e3), ("M", 1e6))
    for per in ("", "/block")
}
GBYTES_PER_S: Final = {
    f"{prefix}byte/{second}": scale
    for prefix, scale in (("", 1e-9), ("K", 1e-6), ("M", 1e-3), ("G", 1.0), ("T", 1e3))
    for second in ("s", "second")
}
SHARE: Final = {"%": 0.01}
COUNT: Final = {"register/thread": 1.0, "": 1.0}
"""What units of figures are in ours. Their names differ from version to version;
a figure of any other unit is left out, rather than told as something it is not."""
SHARED: Final = ("static", "dynamic", "driver")
TENSOR_PIPES: Final = tuple(
    f"sm__pipe_{name}_cycles_active.avg.pct_of_peak_sustained_active" for name in ("tensor", "tc")
)
"""Of the cycles in which an SM has work, on average over all; `tc` is what tcgen05 runs on. Figures
that end in `.max` are of the busiest SM against that average, and reach 1 where few have work."""
ELAPSED: Final = ("sm__cycles_elapsed.max", "gpc__cycles_elapsed.max")
"""Which of them there is differs from version to version."""
CYCLES: Final = {"cycle": 1.0, "": 1.0}
PLACES: Final = (
    "/usr/local/cuda/bin/ncu",
    "/usr/local/bin/ncu",
    "/usr/bin/ncu",
    "/opt/nvidia/nsight-compute/*/ncu",
)


def find_ncu(named: str, root: Path = Path("/")) -> Path | None:
    """Return the program: the one that is named, else the first in the usual places."""
    if named:
        return Path(named) if Path(named).is_file() else None
    found = (path for place in PLACES for path in sorted(root.glob(place[1:]), reverse=True))
    return next((path for path in found if path.is_file()), None)


def folders_of(program: Path) -> tuple[Path, ...]:
    """Return what has to be seen to start it: its own folder, and where it leads on to."""
    real = program.resolve().parent
    return tuple(
        dict.fromkeys(p for p in (program.parent, real, Path("/opt/nvidia")) if p.is_dir())
    )


def take(program: str, report: Path, command: Sequence[str]) -> list[str]:
    """Return the command that profiles another one, from its cudaProfilerStart on."""
    sections = [word for section in SECTIONS for word in ("--section", section)]
    return [
        program,
        *("--profile-from-start", "off"),
        *("--clock-control", "none"),
        *("--launch-count", str(MOST_KERNELS)),
        *sections,
        *("--export", str(report), "--force-overwrite"),
        *("--log-file", f"{report}.log"),
        *command,
    ]


def read_csv(program: str, report: Path) -> list[str]:
    """Return the command that prints all figures of a report as CSV."""
    return [program, "--import", str(report), "--page", "raw", "--csv", "--print-units", "base"]


def read_details(program: str, report: Path) -> list[str]:
    """Return the command that prints a report for people."""
    return [program, "--import", str(report), "--page", "details"]


def kernels_of(text: str) -> list[dict[str, object]]:
    """Return the kernels of a report; `case` counts the markers before each.

    Lines that are no kernel, and figures that are none, are left out. Durations are microseconds,
    shares are of 1.
    """
    kernels = []
    case = -1
    for row in _rows(text):
        name = row.get("Kernel Name", ("", ""))[0]
        if MARKER in name:
            case += 1
            continue
        duration_us = _number(row, "gpu__time_duration.sum", TIME_US)
        if duration_us is not None:
            kernels.append({"case": max(case, 0), "name": name[:200], **_facts(row, duration_us)})
    return kernels[:MOST_KERNELS]


Row = Mapping[str, tuple[str, str]]
"""Value and unit by column."""


def _rows(text: str) -> Iterator[Row]:
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith(HEADER)), len(lines))
    rows = csv.reader(lines[start:])
    header, units = next(rows, []), next(rows, [])
    for values in rows:
        if len(values) == len(header) == len(units):
            pairs = zip(values, units, strict=True)
            yield dict(zip(header, pairs, strict=True))


def _facts(row: Row, duration_us: float) -> dict[str, object]:
    registers = _number(row, "launch__registers_per_thread", COUNT)
    shared = [_number(row, f"launch__shared_mem_per_block_{part}", BYTES) for part in SHARED]
    return {
        "duration_us": duration_us,
        "registers": None if registers is None else int(registers),
        "shared_bytes": _sum(shared),
        "occupancy": _number(row, "sm__warps_active.avg.pct_of_peak_sustained_active", SHARE),
        "theoretical_occupancy": _number(row, "sm__maximum_warps_per_active_cycle_pct", SHARE),
        "gbytes_per_s": _number(row, "dram__bytes.sum.per_second", GBYTES_PER_S),
        "tensor_pipe": _tensor_pipe(row),
    }


def _tensor_pipe(row: Row) -> float | None:
    """Return the share of the kernel's duration in which tensor cores work, over all SMs."""
    busy = [share for name in TENSOR_PIPES if (share := _number(row, name, SHARE)) is not None]
    active = _number(row, "sm__cycles_active.avg", CYCLES)
    elapsed = [cycles for name in ELAPSED if (cycles := _number(row, name, CYCLES))]
    return max(busy) * active / elapsed[0] if busy and elapsed and active is not None else None


def _sum(parts: Sequence[float | None]) -> int | None:
    known = [part for part in parts if part is not None]
    return int(sum(known)) if known else None


def _number(row: Row, name: str, scales: Mapping[str, float]) -> float | None:
    value, unit = row.get(name, ("", ""))
    try:
        number = float(value.replace(",", "")) * scales[unit]
    except (KeyError, ValueError):
        return None
    return number if 0 <= number < 1e15 else None
