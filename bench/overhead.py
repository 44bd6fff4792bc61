"""What halfbyte adds to a job: POST to runner start, and POST to verdict, for a trivial case.

    .venv/bin/python bench/overhead.py [--jobs 20] [--out bench/results/overhead.json]

Starts everything as `halfbyte up` does, in a temporary folder and on a free port, and sends one
small case with a small file again and again, each time only once a warm spare waits. Stage times
come from the job's own events, whose ids are Redis server times in milliseconds, on the same clock.
"""

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import httpx

from client.api import Halfbyte
from client.up import Wanted, local
from client.wire import CaseRequest

SOURCE = b"""
from reference import ref_kernel

def custom_kernel(data):
    return ref_kernel(data)
"""
CASE: CaseRequest = {"m": [16], "n": [16], "k": [16]}
STAGES = ("queued", "running", "starting", "importing", "testing", "finished")


def stage_times_ms(client: Halfbyte, job: str) -> dict[str, float]:
    """Return the time of the first event of each stage, as milliseconds of the epoch."""
    times: dict[str, float] = {}
    for event in client.events(job):
        data = event.data
        name = str(data.get("state") or data.get("stage"))
        times.setdefault(name, float(event.id.partition("-")[0]))
    return times


def measure(client: Halfbyte, jobs: int, pause_s: float) -> list[dict[str, float]]:
    """Send the job `jobs` times and return what each stage took, in milliseconds."""
    rows = []
    for _ in range(jobs):
        time.sleep(pause_s)
        sent_ms = time.time() * 1e3
        started_s = time.perf_counter()
        job = client.submit_file(SOURCE, "trivial.py", [CASE], mode="test")
        accepted_s = time.perf_counter()
        client.get(str(job["id"]), wait=60)
        known_s = time.perf_counter()
        times = stage_times_ms(client, str(job["id"]))
        rows.append(
            {
                "post_to_202": (accepted_s - started_s) * 1e3,
                "post_to_claim": times["running"] - sent_ms,
                "post_to_runner_start": times["importing"] - sent_ms,
                "import": times["testing"] - times["importing"],
                "three_calls_and_end": times["finished"] - times["testing"],
                "post_to_verdict": times["finished"] - sent_ms,
                "post_to_verdict_known_to_client": (known_s - started_s) * 1e3,
            }
        )
    return rows


def main() -> None:
    """Measure and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--pause-s", type=float, default=6.0)
    parser.add_argument("--out", type=Path, default=Path("bench/results/overhead.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="halfbyte-bench-") as folder:
        wanted = Wanted(Path(folder), "127.0.0.1", 0, None, 1)
        with local(wanted) as everything, Halfbyte(everything.url) as client:
            rows = measure(client, options.jobs, options.pause_s)
            (worker,) = httpx.get(f"{everything.url}/v1/workers").json()["workers"]
    result = {
        "what": "milliseconds, one trivial case (m = n = k = 16), three checked calls",
        "jobs": options.jobs,
        "machine": {
            "cpus": os.cpu_count(),
            "python": platform.python_version(),
            "torch": version("torch"),
            "triton": version("triton"),
            "kernel": platform.release(),
            "sandbox_level": worker["sandbox_level"],
        },
        "median_ms": {name: statistics.median(row[name] for row in rows) for name in rows[0]},
        "p90_ms": {
            name: statistics.quantiles((r[name] for r in rows), n=10)[8] for name in rows[0]
        },
        "rows_ms": rows,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result["median_ms"], indent=1))


if __name__ == "__main__":
    main()
