"""Fuzz the HTTP edge of a service of its own, by its description, with jobs in every state.

    .venv/bin/python -m bench.fuzz_http [--minutes 20] [--a-second 20] [--seed 1]

Schemathesis draws requests, right and wrong ones, and sequences of them, and holds the answers to
/openapi.json. Ends with 1 where an answer was not as described, where one was a 5xx that is no 503,
or where the service logged an error or ended. What it found and how to send it again is printed:
add it to tests/service/test_errors.py.
"""

import argparse
import asyncio
import contextlib
import itertools
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

from bench.own_service import connected, listening, processes
from contract.job import Fault
from contract.queue import JobQueue
from tests.service.workers import timed, worker, wrong_everywhere

CHECKS = (
    *("not_a_server_error", "status_code_conformance", "content_type_conformance"),
    *("response_headers_conformance", "response_schema_conformance"),
    *("negative_data_rejection", "unsupported_method"),
)
LONGEST_ANSWER_S = 70  # ?wait=60 and a little


async def end_jobs(queue: JobQueue) -> None:
    """Take what waits, and end it in turns as workers do, or leave it running."""
    for turn in itertools.count():
        lease = await queue.claim(worker(), wait_s=3600)
        if lease is None or turn % 4 == 3:
            continue
        with contextlib.suppress(Exception):  # cancelled meanwhile
            if turn % 4 == 2:
                await queue.release(lease, Fault(reason="judge_failed", message="the judge died"))
            else:
                await queue.finish(lease, timed() if turn % 4 else wrong_everywhere())


async def fuzz(folder: Path, options: argparse.Namespace) -> int:
    with processes(folder) as (url, port, _):
        await listening(port)
        async with connected(url) as (queue, _):
            ending = asyncio.create_task(end_jobs(queue))
            base = f"http://127.0.0.1:{port}"
            run = await asyncio.create_subprocess_exec(
                *(str(Path(sys.executable).with_name("schemathesis")), "--no-color", "run"),
                *(f"{base}/openapi.json", "--max-time", str(round(60 * options.minutes))),
                *("--checks", ",".join(CHECKS), "--mode", "all", "--continue-on-failure"),
                *("--rate-limit", f"{options.a_second}/s", "--seed", str(options.seed)),
                *("--request-timeout", str(LONGEST_ANSWER_S), "--generation-database", "none"),
                *("--suppress-health-check", "all"),
                cwd=folder,
                stdin=subprocess.DEVNULL,
            )
            found = await run.wait()
            ending.cancel()
            async with httpx.AsyncClient(base_url=base, timeout=30) as client:
                figures = (await client.get("/metrics")).text
        errors = [
            line for line in (folder / "api.log").read_text().splitlines() if " ERROR " in line
        ]
        statuses = answers(figures)
        print({"answers": statuses, "errors logged": len(errors)}, *errors[:10], sep="\n")
        wrong = {status for status in statuses if status.startswith("5") and status != "503"}
        return 1 if found or errors or wrong else 0


def answers(figures: str) -> dict[str, int]:
    """Count requests by status, from the service's own metrics."""
    counted: dict[str, int] = {}
    for line in figures.splitlines():
        if line.startswith("halfbyte_http_requests_total{"):
            status = line.partition('status="')[2].partition('"')[0]
            counted[status] = counted.get(status, 0) + round(float(line.rpartition(" ")[2]))
    return counted


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--a-second", type=int, default=20, help="requests a second")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fuzz-http-") as name:
        status = asyncio.run(fuzz(Path(name), options))
    print(f"{time.monotonic() - began_s:.0f} s, {'something' if status else 'nothing'} found")
    return status


if __name__ == "__main__":
    sys.exit(main())
