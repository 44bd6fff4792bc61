"""Whether hostile jobs leave something in the memory of worker and judge: sizes after each of 30.

    export HALFBYTE_SERVICE_JOB__MEMORY_BYTES=1073741824
    export HALFBYTE_WORKER_LIMITS__MEMORY_BYTES=1073741824
    export HALFBYTE_SERVICE_JOB__EMULATED_CALL_S=5
    .venv/bin/python bench/hostile_memory.py [--rounds 3] [--out bench/results/hostile_memory.json]

Starts everything as `halfbyte up` does and sends some of the worst candidates of tests/candidates
in turn. The first round warms up (allocators, caches of modules); later ones should add nothing.
"""

import argparse
import json
import os
import platform
import tempfile
import time
from pathlib import Path

import httpx

from client.api import Halfbyte
from client.up import Wanted, local
from worker.process_tree import children

CANDIDATES = Path(__file__).parent.parent / "tests" / "candidates"
HOSTILE = (
    "flood_stdout",
    "harm_log_injection",
    "crash_raises",
    "harm_fork_bomb",
    "harm_leaves_spinners",
    "memory_hog",
    "harm_fills_disks",
    "harm_odd_records",
    "cheat_walks_gc",
    "harm_writes_outside_slot",
)
BODY = {"m": [8, 16, 5], "n": [32, 16, 24], "k": [256, 512, 64], "mode": "test"}
SETTLE_S = 1.0


def sizes(pid: int) -> dict[str, int]:
    """Return resident memory in KiB, and what else could pile up."""
    folder = Path(f"/proc/{pid}")
    status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
    return {
        "rss_kib": int(status["VmRSS"].split()[0]),
        "threads": int(status["Threads"]),
        "descriptors": len(list((folder / "fd").iterdir())),
    }


def measure(client: Halfbyte, worker: int, rounds: int) -> list[dict[str, object]]:
    """Send the candidates in turn; return the sizes after each."""
    (judge,) = children(worker)
    rows: list[dict[str, object]] = []
    for number in range(rounds * len(HOSTILE)):
        name = HOSTILE[number % len(HOSTILE)]
        source = (CANDIDATES / f"{name}.py").read_text()
        job = client.submit({**BODY, "source": source, "filename": f"{name}.py"})
        ended = client.get(str(job["id"]), wait=60)
        time.sleep(SETTLE_S)  # the judge cleans up before it answers; spares start after that
        verdict = ended.get("verdict") or {}
        rows.append(
            {
                "candidate": name,
                "outcome": verdict.get("outcome") if isinstance(verdict, dict) else None,
                "worker": sizes(worker),
                "judge": sizes(judge),
            }
        )
        print(json.dumps(rows[-1]), flush=True)
    assert list(children(worker)) == [judge], "the judge was replaced"
    return rows


def growth(rows: list[dict[str, object]], process: str) -> dict[str, int]:
    """Compare the end of the first round with the end of the last."""
    first, last = rows[len(HOSTILE) - 1][process], rows[-1][process]
    assert isinstance(first, dict)
    assert isinstance(last, dict)
    return {name: last[name] - first[name] for name in first}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("bench/results/hostile_memory.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="halfbyte-bench-") as folder:
        wanted = Wanted(Path(folder), "127.0.0.1", 0, None, 1)
        with local(wanted) as everything, Halfbyte(everything.url) as client:
            (worker,) = httpx.get(f"{everything.url}/v1/workers").json()["workers"]
            rows = measure(client, worker["pid"], options.rounds)
    result = {
        "what": "sizes of worker and judge after each hostile job; growth is over the later rounds",
        "machine": {
            "cpus": os.cpu_count(),
            "python": platform.python_version(),
            "kernel": platform.release(),
            "sandbox_level": worker["sandbox_level"],
        },
        "growth": {process: growth(rows, process) for process in ("worker", "judge")},
        "rows": rows,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result["growth"], indent=1))


if __name__ == "__main__":
    main()
