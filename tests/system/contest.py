"""A contest: hundreds of competitors with keys and quotas, workers whose judge is a stand-in.

Real are Redis, the APIs, the workers with their leases, keys, quotas, the feed and its webhook. Not
real is what is judged: see contest_judge.py. Afterwards everything is held against what competitors
know of their own files.
"""

import asyncio
import csv
import io
import os
import platform
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx

from contract.keys import KeyStore, Role
from contract.queue import JobQueue
from contract.settings import QueueSettings
from tests.service.receivers import Receiver, receiving
from tests.system.chaos_processes import Part, api, environment, free_port, redis
from tests.system.contest_judge import DEVICE
from tests.system.contest_people import (
    BOARD,
    Competitor,
    Notes,
    board_of,
    quotas_broken,
    session,
)

WORKER = Path(__file__).with_name("contest_worker.py")
GREEDY = "greedy"
START_S = 120
DELIVERED_S = 180
ON_BOARD = {"device": DEVICE}


@dataclass(frozen=True)
class Plan:
    competitors: int
    submissions: int
    """Of each competitor."""
    workers: int
    apis: int
    lasts_s: float
    """Mean time of a job."""
    pause_s: float
    """Mean pause of a competitor before each submission."""
    greedy: int
    """Competitors more, who send twice as many without a pause, and jobs ten times as long."""
    jobs_waiting: int
    jobs_a_minute: int
    gpu_seconds_an_hour: int
    patience_s: float
    """How long a competitor waits where a quota is used up; else it gives that file up."""

    @property
    def quota(self) -> dict[str, int]:
        names = ("jobs_waiting", "jobs_a_minute", "gpu_seconds_an_hour")
        return {name: getattr(self, name) for name in names}

    def of(self, name: str) -> tuple[int, float, float]:
        """What one competitor sends: how many, how long they last, after which pauses."""
        if name.startswith(GREEDY):
            return 2 * self.submissions, 10 * self.lasts_s, 0.0
        return self.submissions, self.lasts_s, self.pause_s


@contextmanager
def stage(plan: Plan) -> Iterator[tuple[str, list[str]]]:
    """Start everything; give the address of Redis and those of the APIs."""
    with tempfile.TemporaryDirectory(prefix="halfbyte-contest-") as name:
        folder = Path(name)
        (folder / "redis").mkdir()
        port = free_port()
        redis_url = f"redis://127.0.0.1:{port}/0"
        quotas = {f"HALFBYTE_SERVICE_QUOTA__{k.upper()}": str(v) for k, v in plan.quota.items()}
        env = environment(redis_url, lease_s=60, beat_s=2, first_uid=63_000) | quotas
        env |= {
            "HALFBYTE_SERVICE_FULL_RETRY_AFTER_S": "1",
            "HALFBYTE_SERVICE_CALLBACK_PRIVATE": "true",
        }
        ports = [free_port() for _ in range(plan.apis)]
        parts = [Part("redis", redis(port, folder / "redis"), env, folder)]
        parts += [Part(f"api-{i}", api(each), env, folder) for i, each in enumerate(ports)]
        parts += [
            Part(f"worker-{i}", (api(0)[0], "-P", str(WORKER)), env, folder)
            for i in range(plan.workers)
        ]
        try:
            for part in parts:
                part.start()
            yield redis_url, [f"http://127.0.0.1:{each}" for each in ports]
            gone = [part.name for part in parts if not part.alive]
            assert not gone, [(folder / f"{name}.log").read_text()[-2000:] for name in gone]
        finally:
            for part in reversed(parts):
                if part.alive:
                    part.kill()


def run(plan: Plan) -> dict[str, Any]:
    """Hold the contest; return what was found, with all that should not be under `wrong`."""
    with stage(plan) as (redis_url, urls), receiving(204) as receiver:
        return asyncio.run(_held(plan, redis_url, urls, receiver))


async def _held(
    plan: Plan, redis_url: str, urls: Sequence[str], receiver: Receiver
) -> dict[str, Any]:
    await _ready(urls, plan.workers)
    names = [f"competitor-{i:03}" for i in range(plan.competitors)]
    greedy = [f"{GREEDY}-{i:03}" for i in range(plan.greedy)]
    tokens = await _keys(redis_url, names + greedy)
    notes = Notes()
    async with session(urls[0], tokens["root"]) as admin:
        await _closed(admin)
        hooked = await admin.put("/v1/ranked/webhook", json={"url": receiver.url})
        hooked.raise_for_status()
        watching = asyncio.create_task(_watch(admin, notes))
        began = time.monotonic()
        async with asyncio.TaskGroup() as everybody:
            for index, name in enumerate(names + greedy):
                http = session(urls[index % len(urls)], tokens[name])
                person = Competitor(name, http, notes, plan.patience_s)
                everybody.create_task(person.compete(*plan.of(name)))
        lasted_s = time.monotonic() - began
        watching.cancel()
        await asyncio.wait({watching})
        if not watching.cancelled():
            watching.result()
        wrong = await _judged(plan, admin, notes, receiver)
    return _report(plan, notes, lasted_s, wrong)


async def _ready(urls: Sequence[str], workers: int) -> None:
    async with asyncio.timeout(START_S), httpx.AsyncClient() as http:
        for url in urls:
            while True:
                try:
                    if (await http.get(f"{url}/readyz")).json().get("workers") == workers:
                        break
                except (httpx.TransportError, ValueError):
                    pass
                await asyncio.sleep(0.1)


async def _keys(redis_url: str, names: Sequence[str]) -> dict[str, str]:
    queue = JobQueue.connect(QueueSettings(redis_url=redis_url))
    try:
        keys = KeyStore(queue.store)
        tokens = {name: (await keys.create(name, Role.SUBMIT)).token for name in names}
        return tokens | {"root": (await keys.create("root", Role.ADMIN)).token}
    finally:
        await queue.close()


async def _closed(admin: httpx.AsyncClient) -> None:
    """Wait until the API has noticed that there are keys."""
    for _ in range(10 * START_S):
        answer = await admin.get("/v1/queue", headers={"Authorization": ""})
        if answer.status_code == 401:
            return
        await asyncio.sleep(0.1)
    raise AssertionError("the API never asked for a key")


async def _watch(admin: httpx.AsyncClient, notes: Notes) -> None:
    """A spectator: the whole board and the news of the feed, again and again."""
    after = 0
    while True:
        with notes.clock("export"):
            await admin.get(f"{BOARD}/export", params=ON_BOARD)
        with notes.clock("feed"):
            answer = await admin.get("/v1/ranked", params={"after": after})
        after = answer.json()["next_after"]
        await asyncio.sleep(0.5)


async def _judged(
    plan: Plan, admin: httpx.AsyncClient, notes: Notes, receiver: Receiver
) -> list[str]:
    """Hold what the service tells against what competitors know; return what differs."""
    jobs = await _jobs(admin)
    notes.queued_ms = [1000 * (job["started_s"] - job["created_s"]) for job in jobs]
    wrong = quotas_broken(jobs, plan.quota)
    if sorted(job["id"] for job in jobs) != sorted(sent.job for sent in notes.sent):
        wrong.append("the jobs are not those that were accepted")
    unfinished = [job["id"] for job in jobs if job["state"] != "finished"]
    wrong += [f"{len(unfinished)} jobs did not finish"] if unfinished else []
    wrong += await _differing(admin, notes, frozenset())
    wrong += await _history(admin, notes)
    feed = await _feed(admin)
    numbers = [entry["number"] for entry in feed]
    if numbers != list(range(1, len(notes.sent) + 1)):
        wrong.append("the feed has gaps, or entries twice")
    told = {entry["job"]: (entry["geomean_us"], entry["counts"]) for entry in feed}
    for sent in notes.sent:
        known = (None if sent.outcome == "incorrect" else sent.geomean_us, sent.counts)
        if told.get(sent.job) != known:
            wrong.append(f"the feed tells {told.get(sent.job)} of a job that is {known}")
    wrong += await _undelivered(receiver, len(feed))
    out = {each.job for each in board_of(notes.sent)[:3]}
    for job in sorted(out):
        why = {"reason": "a trial"}
        (await admin.post(f"/v1/results/{job}/disqualify", json=why)).raise_for_status()
    wrong += await _differing(admin, notes, frozenset(out))
    return wrong


async def _jobs(admin: httpx.AsyncClient) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = []
    async for page in _pages(admin, "/v1/jobs"):
        for job in page["jobs"]:
            seconds = {
                f"{what}_s": datetime.fromisoformat(job[f"{what}_at"]).timestamp()
                for what in ("created", "started", "finished")
            }
            jobs.append({name: job[name] for name in ("id", "owner", "state")} | seconds)
    return jobs


async def _differing(admin: httpx.AsyncClient, notes: Notes, out: frozenset[str]) -> list[str]:
    """Compare the board with ours: by pages, as CSV and as JSON."""
    known = [
        (rank, each.owner, each.geomean_us, each.job)
        for rank, each in enumerate(board_of(notes.sent, out), 1)
    ]
    paged = [row async for page in _pages(admin, BOARD, **ON_BOARD) for row in page["entries"]]
    text = (await admin.get(f"{BOARD}/export", params=ON_BOARD)).text
    whole = await admin.get(f"{BOARD}/export", params={"format": "json", **ON_BOARD})
    told = {
        "pages": paged,
        "CSV": list(csv.DictReader(io.StringIO(text))),
        "JSON": whole.json()["entries"],
    }
    return [
        f"the board by {how} is not the one that was computed ({len(out)} disqualified)"
        for how, rows in told.items()
        if known
        != [(int(row["rank"]), row["owner"], float(row["geomean_us"]), row["job"]) for row in rows]
    ]


async def _history(admin: httpx.AsyncClient, notes: Notes) -> list[str]:
    wrong = []
    for owner in sorted({sent.owner for sent in notes.sent})[:10]:
        asked = {"owner": owner, **ON_BOARD}
        pages = _pages(admin, f"{BOARD}/history", **asked)
        told = [(row["job"], row["geomean_us"]) async for page in pages for row in page["results"]]
        theirs = [each for each in notes.sent if each.owner == owner and each.counts]
        theirs.sort(key=lambda each: -each.number)
        if told != [(each.job, each.geomean_us) for each in theirs]:
            wrong.append(f"the history of {owner} is not what it sent")
    return wrong


async def _feed(admin: httpx.AsyncClient) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    while True:
        params = {"after": len(entries), "limit": 500}
        page = (await admin.get("/v1/ranked", params=params)).json()["entries"]
        if not page:
            return entries
        entries += page


async def _undelivered(receiver: Receiver, entries: int) -> list[str]:
    """Wait until every entry of the feed was posted to the webhook."""
    wanted = {f"msg_ranked-{number}" for number in range(1, entries + 1)}
    deadline = time.monotonic() + DELIVERED_S
    while time.monotonic() < deadline:
        missing = wanted - {headers["webhook-id"] for _, headers, _ in list(receiver.requests)}
        if not missing:
            return []
        await asyncio.sleep(0.2)
    return [f"{len(missing)} entries were not delivered"]


async def _pages(
    admin: httpx.AsyncClient, path: str, **params: Any
) -> AsyncIterator[dict[str, Any]]:
    params["limit"], cursor = 100, ""
    while True:
        answer = await admin.get(path, params=params | ({"cursor": cursor} if cursor else {}))
        answer.raise_for_status()
        page = answer.json()
        yield page
        cursor = page["next_cursor"]
        if cursor is None:
            return


def _report(plan: Plan, notes: Notes, lasted_s: float, wrong: list[str]) -> dict[str, Any]:
    return {
        "wrong": wrong,
        "plan": asdict(plan),
        "machine": {
            "cpus": os.cpu_count(),
            "kernel": platform.release(),
            "python": platform.python_version(),
            "load_average": os.getloadavg(),
        },
        "jobs": len(notes.sent),
        "counting": sum(sent.counts for sent in notes.sent),
        "owners_on_the_board": len(board_of(notes.sent)),
        "refused_by_quota": dict(notes.refused),
        "given_up": notes.given_up,
        "answered_503": notes.unavailable,
        "sent_once_more": notes.repeated,
        "lasted_s": round(lasted_s, 1),
        "requests": sum(map(len, notes.took_ms.values())),
        "latency_ms": {what: _spread(took) for what, took in sorted(notes.took_ms.items())},
        "queued_ms": _spread(notes.queued_ms),
    }


def _spread(took_ms: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(took_ms, n=100, method="inclusive") if len(took_ms) > 1 else []
    at = {f"p{cut}": round(cuts[cut - 1], 1) for cut in (50, 95, 99) if cuts}
    return {"count": len(took_ms), **at, "max": round(max(took_ms), 1)}
