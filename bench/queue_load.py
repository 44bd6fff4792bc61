"""Load on the queue and the API, each figure beside a bare one of the same run.

    .venv/bin/python -m bench.queue_load [--out bench/results/queue_load.json] [--queued 100000]
        [--only status_queries]

1. Status queries a second, a job a connection, against a bare FastAPI endpoint that returns the
   bytes of one of them.
2. From enqueue to claim, against XADD and XREADGROUP.
3. Claim and position with many jobs waiting, against an empty queue.
4. /healthz while 200 clients wait by SSE and long poll; then all jobs end, and all must hear of it.

Both sides of a figure take turns, so that they share whatever else the machine does. Redis confirms
to disk (appendfsync always) as in operation, for both sides.
"""

import argparse
import asyncio
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import httpx
from redis.asyncio import Redis

from bench.own_service import CASE, WORKER, connected, listening, processes, verdict
from contract.queue import JobQueue
from contract.settings import QueueSettings
from contract.submission import Mode, Submission
from tests.system.chaos_processes import Part, free_port

CONNECTIONS = 16
ROUND_S = 3.0
ROUNDS = 6
HANDOVERS = 400
LOOKS = 400
OWNERS = 100
FILLING = 64
WAITERS = 200
HEALTH_S = 15.0


def submission() -> Submission:
    return Submission(problem="nvfp4_group_gemm", mode=Mode.TEST, cases=(CASE,), source=b"x = 1\n")


def spread_ms(seconds: Sequence[float]) -> dict[str, float]:
    cuts = statistics.quantiles(seconds, n=100)
    return {"p50_ms": round(cuts[49] * 1e3, 3), "p99_ms": round(cuts[98] * 1e3, 3)}


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    began_s = time.perf_counter()
    await work()
    return time.perf_counter() - began_s


# 1. Status queries


async def answers_a_second(
    port: int, paths: Sequence[str], seconds: float
) -> tuple[float, int, bytes]:
    """Ask over kept connections, one a path, one request at a time; return rate, number, a body."""
    body = b""
    count = 0
    deadline_s = time.perf_counter() + seconds

    async def ask(path: str) -> None:
        nonlocal count, body
        request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < deadline_s:
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            assert head.startswith(b"http/1.1 200"), head
            length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
            body = await reader.readexactly(length)
            count += 1
        writer.close()

    began_s = time.perf_counter()
    await asyncio.gather(*(ask(path) for path in paths))
    return count / (time.perf_counter() - began_s), count, body


async def status_queries(
    queue: JobQueue, port: int, api_pid: int, folder: Path
) -> dict[str, object]:
    paths = []
    for _ in range(CONNECTIONS):
        job = await queue.submit(submission(), "anonymous")
        lease = await queue.claim(WORKER, 5)
        assert lease is not None
        await queue.finish(lease, verdict())
        paths.append(f"/v1/jobs/{job.id}")
    _, _, body = await answers_a_second(port, paths, 1)
    content = folder / "body"
    content.write_bytes(body)
    bare_port = free_port()
    argv = (sys.executable, str(Path(__file__).with_name("bare_api.py")))
    bare = Part("bare", (*argv, str(bare_port), str(content)), {}, folder)
    bare.start()
    await listening(bare_port)
    ours, theirs = [], []
    our_cpu_us, their_cpu_us = [], []
    for _ in range(ROUNDS):
        used_s = cpu_s(api_pid)
        rate, count, _ = await answers_a_second(port, paths, ROUND_S)
        ours.append(rate)
        our_cpu_us.append((cpu_s(api_pid) - used_s) / count * 1e6)
        used_s = cpu_s(bare.pid)
        rate, count, same = await answers_a_second(bare_port, paths, ROUND_S)
        assert same == body
        theirs.append(rate)
        their_cpu_us.append((cpu_s(bare.pid) - used_s) / count * 1e6)
    bare.kill()
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    return {
        "bytes": len(body),
        "connections": CONNECTIONS,
        "halfbyte_a_second": round(statistics.median(ours)),
        "bare_fastapi_a_second": round(statistics.median(theirs)),
        "ratio": round(statistics.median(ratios), 3),
        "ratios": [round(ratio, 3) for ratio in ratios],
        "halfbyte_cpu_us_a_query": round(statistics.median(our_cpu_us)),
        "bare_fastapi_cpu_us_a_query": round(statistics.median(their_cpu_us)),
        "aim": "ratio of at least 0.4",
    }


def cpu_s(pid: int) -> float:
    """Processor time that a process has used: less at the mercy of its neighbours than a rate."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# 2. From enqueue to claim


async def handovers(queue: JobQueue, client: Redis) -> dict[str, object]:
    """One waits, the other sends; from before the sending until the waiting one has it."""
    await client.xgroup_create("bare", "group", mkstream=True)
    ours, theirs = [], []
    for _ in range(HANDOVERS):
        waiting = asyncio.create_task(queue.claim(WORKER, 10))
        await asyncio.sleep(0.005)  # until it waits
        began_s = time.perf_counter()
        await queue.submit(submission(), "somebody")
        lease = await waiting
        ours.append(time.perf_counter() - began_s)
        assert lease is not None
        await queue.finish(lease, verdict())

        reading = asyncio.create_task(
            client.xreadgroup("group", "bench", {"bare": ">"}, count=1, block=2000)
        )
        await asyncio.sleep(0.005)
        began_s = time.perf_counter()
        await client.xadd("bare", {"job": submission().model_dump_json()})
        assert await reading
        theirs.append(time.perf_counter() - began_s)
    return {
        "handovers": HANDOVERS,
        "halfbyte": spread_ms(ours),
        "bare_xadd_xreadgroup": spread_ms(theirs),
        "difference_p50_ms": round((statistics.median(ours) - statistics.median(theirs)) * 1e3, 3),
    }


# 3. A long queue


async def long_queue(url: str, queued: int) -> dict[str, object]:
    """The same steps on a queue with nothing else in it and on one with very many jobs."""
    queues = {
        name: JobQueue.connect(QueueSettings(redis_url=url, prefix=name, max_queued=2 * queued))
        for name in ("empty", "full")
    }
    jobs = await fill(queues["full"], queued)
    figures: dict[str, dict[str, list[float]]] = {
        name: {"submit": [], "position": [], "claim": []} for name in queues
    }
    for number in range(LOOKS):
        for name, queue in queues.items():
            job = await queue.submit(submission(), f"owner-{number % OWNERS}")
            looked_at = job.id if name == "empty" else jobs[(number * 7919) % len(jobs)]
            figures[name]["position"].append(await timed(lambda q=queue, j=looked_at: q.get(j)))
            began_s = time.perf_counter()
            lease = await queue.claim(WORKER, 5)
            figures[name]["claim"].append(time.perf_counter() - began_s)
            assert lease is not None
            await queue.finish(lease, verdict())
    for queue in queues.values():
        await queue.close()
    report: dict[str, object] = {"queued": queued, "owners": OWNERS, "looks": LOOKS}
    for step in ("position", "claim"):
        medians = {name: statistics.median(figures[name][step]) for name in queues}
        report[step] = {
            **{name: spread_ms(figures[name][step]) for name in queues},
            "ratio_of_medians": round(medians["full"] / medians["empty"], 3),
        }
    return report | {"aim": "ratios of at most 2"}


async def fill(queue: JobQueue, queued: int) -> list[str]:
    numbers = iter(range(queued))
    jobs: list[str] = []

    async def send() -> None:
        for number in numbers:
            jobs.append((await queue.submit(submission(), f"owner-{number % OWNERS}")).id)

    await asyncio.gather(*(send() for _ in range(FILLING)))
    return jobs


# 4. Many who wait


async def many_wait(queue: JobQueue, port: int) -> dict[str, object]:
    """Half of them listen to events, half hold a request; another asks for /healthz meanwhile."""
    jobs = [(await queue.submit(submission(), "anonymous")).id for _ in range(WAITERS)]
    limits = httpx.Limits(max_connections=WAITERS + 1)
    base = f"http://127.0.0.1:{port}"
    async with httpx.AsyncClient(base_url=base, limits=limits, timeout=120) as client:
        waiters = [
            asyncio.create_task(listens(client, job) if i % 2 else holds(client, job))
            for i, job in enumerate(jobs)
        ]
        await open_requests(client, WAITERS)
        async with httpx.AsyncClient(base_url=base, timeout=30) as other:
            alone = []
            deadline_s = time.perf_counter() + HEALTH_S
            while time.perf_counter() < deadline_s:
                alone.append(await timed(lambda: other.get("/healthz")))
                await asyncio.sleep(0.01)
        assert not any(waiter.done() for waiter in waiters)
        ending = time.perf_counter()
        for job in jobs:
            await queue.cancel(job)
        heard = await asyncio.gather(*waiters)
        all_heard_s = time.perf_counter() - ending
    return {
        "waiters": WAITERS,
        "healthz_asked": len(alone),
        "healthz": spread_ms(alone),
        "heard_of_the_end": sum(heard),
        "all_cancelled_and_heard_s": round(all_heard_s, 3),
        "aim": "p99 under 200 ms",
    }


async def open_requests(client: httpx.AsyncClient, wanted: int) -> None:
    for _ in range(500):
        text = (await client.get("/metrics")).text
        lines = [
            line for line in text.splitlines() if line.startswith("halfbyte_http_requests_open")
        ]
        if lines and float(lines[0].split()[1]) >= wanted:
            return
        await asyncio.sleep(0.05)
    raise TimeoutError("the waiters did not come to wait")


async def listens(client: httpx.AsyncClient, job: str) -> bool:
    async with client.stream("GET", f"/v1/jobs/{job}/events") as stream:
        text = "".join([piece async for piece in stream.aiter_text()])
    return '"cancelled"' in text


async def holds(client: httpx.AsyncClient, job: str) -> bool:
    answer = await client.get(f"/v1/jobs/{job}", params={"wait": 60})
    return bool(answer.json()["state"] == "cancelled")


async def measure(folder: Path, queued: int, only: str | None) -> dict[str, object]:
    with processes(folder) as (url, port, api_pid):
        await listening(port)
        async with connected(url) as (queue, client):
            report: dict[str, object] = {}
            for name, part in (
                ("status_queries", lambda: status_queries(queue, port, api_pid, folder)),
                ("enqueue_to_claim", lambda: handovers(queue, client)),
                ("many_wait", lambda: many_wait(queue, port)),
                ("long_queue", lambda: long_queue(url, queued)),
            ):
                if only not in (None, name):
                    continue
                before = os.getloadavg()[0]
                report[name] = await part() | {"load_average_before": round(before, 2)}
                print(json.dumps({name: report[name]}, indent=1), flush=True)
            return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("bench/results/queue_load.json"))
    parser.add_argument("--queued", type=int, default=100_000)
    parser.add_argument("--only", help="one part, such as status_queries")
    options = parser.parse_args()
    machine = {
        "cpus": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load_average_before": os.getloadavg(),
    }
    with tempfile.TemporaryDirectory(prefix="queue-load-") as name:
        report = asyncio.run(measure(Path(name), options.queued, options.only))
    machine["load_average_after"] = os.getloadavg()
    options.out.write_text(json.dumps({"machine": machine, **report}, indent=1) + "\n")


if __name__ == "__main__":
    main()
