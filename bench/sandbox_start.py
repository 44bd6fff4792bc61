"""What confinement costs: from start to the first byte of a trivial Python, and to its removal.

    .venv/bin/python bench/sandbox_start.py [--rounds 40] [--out bench/results/sandbox_start.json]

Every way that this machine allows takes its turn in every round, so that they share whatever else
the machine does; ratios are of medians to level 0 in the same run.
"""

import argparse
import json
import os
import platform
import socket
import statistics
import sys
import time
from pathlib import Path

from worker.process_tree import adopt_orphans
from worker.sandbox.confinement import Launch, Sandbox, SandboxSettings, SandboxUnavailable
from worker.sandbox.landlock import build_landlock
from worker.sandbox.namespaces import build_level_1, build_level_2
from worker.sandbox.unconfined import Unconfined

FIRST_BYTE = "import os, sys; os.write(int(sys.argv[1]), b'!'); os.read(int(sys.argv[1]), 1)"
BASE = "level 0"


def ways() -> tuple[dict[str, Sandbox], dict[str, str]]:
    """Return what can be measured here, and why the others cannot."""
    found: dict[str, Sandbox] = {BASE: Unconfined()}
    missing = {}
    for name, build in (
        ("level 2", build_level_2),
        ("level 1, namespaces", build_level_1),
        ("level 1, Landlock", build_landlock),
    ):
        try:
            found[name] = build(SandboxSettings())
        except SandboxUnavailable as error:
            missing[name] = str(error)
    return found, missing


def once(sandbox: Sandbox) -> tuple[float, float]:
    """Return the milliseconds to the first byte, and to remove a process that is still running."""
    ours, theirs = socket.socketpair()
    null = os.open(os.devnull, os.O_WRONLY)
    with ours, theirs:
        started_s = time.perf_counter()
        confined = sandbox.start(
            Launch(
                argv=(sys.executable, "-I", "-S", "-c", FIRST_BYTE, str(theirs.fileno())),
                environment={},
                memory_bytes=1 << 30,
                stdout_fd=null,
                stderr_fd=null,
                socket_fd=theirs.fileno(),
            )
        )
        assert ours.recv(1) == b"!"
        first_byte_s = time.perf_counter()
        confined.destroy()
        removed_s = time.perf_counter()
    os.close(null)
    return (first_byte_s - started_s) * 1e3, (removed_s - first_byte_s) * 1e3


def summary(pairs: list[tuple[float, float]], base_ms: float) -> dict[str, float]:
    """Return medians and tails of one way, in milliseconds."""
    starts = [start for start, _ in pairs]
    return {
        "first_byte_median_ms": statistics.median(starts),
        "first_byte_p90_ms": statistics.quantiles(starts, n=10)[-1],
        "removal_median_ms": statistics.median(removal for _, removal in pairs),
        "ratio_to_level_0": statistics.median(starts) / base_ms,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--out", type=Path, default=Path("bench/results/sandbox_start.json"))
    options = parser.parse_args()
    adopt_orphans()
    found, missing = ways()
    pairs: dict[str, list[tuple[float, float]]] = {name: [] for name in found}
    for _ in range(options.rounds):
        for name, sandbox in found.items():
            pairs[name].append(once(sandbox))
    base_ms = statistics.median(start for start, _ in pairs[BASE])
    result = {
        "rounds": options.rounds,
        "machine": {
            "kernel": platform.release(),
            "cores": os.cpu_count(),
            "load_average": os.getloadavg(),
            "python": platform.python_version(),
        },
        "ways": {
            name: {"made_of": found[name].description, **summary(pairs[name], base_ms)}
            for name in found
        },
        "not_measured": missing,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
