"""Competitors of a contest, what each of them knows, and a leaderboard computed from that alone."""

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.system.contest_judge import file_that

PROBLEM = "nvfp4_group_gemm"
BOARD = f"/v1/leaderboards/{PROBLEM}"
NOT_COUNTED = ("incorrect", "emulated", "unconfined")
TIES_US = (100 / 3, 200 / 3, 100.0)
"""Scores that several competitors reach to the last digit."""
ENDED_S = 300
KEPT_S = 2
"""Connections are given up before the API closes them, after five idle seconds."""
RETRIES = 60


@dataclass(frozen=True)
class Sent:
    """A job that was accepted, and what its file will be found to be."""

    owner: str
    job: str
    number: int
    outcome: str
    geomean_us: float

    @property
    def counts(self) -> bool:
        return self.outcome == "passed"


@dataclass
class Notes:
    """What happened, from the outside."""

    sent: list[Sent] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Answers with 429, by quota."""
    given_up: int = 0
    """Submissions whose competitor did not wait for the quota."""
    took_ms: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Time until the answer, by what was asked."""
    queued_ms: list[float] = field(default_factory=list)
    """Time of each job from its acceptance to a worker."""
    unavailable: int = 0
    repeated: int = 0
    """Requests that met the end of a kept connection, and were sent once more."""

    @contextmanager
    def clock(self, what: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.took_ms[what].append(1000 * (time.perf_counter() - began))


def session(url: str, token: str) -> httpx.AsyncClient:
    """A client with connections of its own, as a person has."""
    return httpx.AsyncClient(
        base_url=url,
        headers={"Authorization": f"Bearer {token}"},
        timeout=120,
        limits=httpx.Limits(keepalive_expiry=KEPT_S),
        verify=False,  # there is no TLS here, and certificates take long to load
    )


class Competitor:
    """Sends files, sooner or later, looks at its jobs and at the board."""

    def __init__(self, name: str, http: httpx.AsyncClient, notes: Notes, patience_s: float) -> None:
        self.name = name
        self._http = http
        self._notes = notes
        self._patience_s = patience_s
        self._chance = random.Random(name)

    async def compete(self, submissions: int, lasts_s: float, pause_s: float) -> None:
        async with self._http:
            await self._compete(submissions, lasts_s, pause_s)

    async def _compete(self, submissions: int, lasts_s: float, pause_s: float) -> None:
        for index in range(submissions):
            await asyncio.sleep(self._chance.uniform(0, 2 * pause_s))
            sent = await self._send(index, lasts_s)
            if sent is not None and self._chance.random() < 0.5:
                await asyncio.sleep(self._chance.random())
                with self._notes.clock("status"):
                    await self._get(f"/v1/jobs/{sent.job}")
            if self._chance.random() < 0.5:
                with self._notes.clock("board"):
                    await self._get(BOARD, limit=20)
        for sent in [each for each in self._notes.sent if each.owner == self.name]:
            await self._until_ended(sent)

    async def _send(self, index: int, lasts_s: float) -> Sent | None:
        chance = self._chance
        tied = chance.random() < 0.3
        score_us = chance.choice(TIES_US) if tied else chance.uniform(20, 2000)
        outcome = "passed"
        if chance.random() < 0.2:  # what does not count would be the best of all
            outcome, score_us = chance.choice(NOT_COUNTED), chance.uniform(0.1, 1)
        lasts_s *= chance.uniform(0.2, 1.8)
        body = {"mode": "ranked", "source": file_that(outcome, score_us, lasts_s)}
        headers = {"Idempotency-Key": f"{self.name}-{index}"}
        for _ in range(RETRIES):
            with self._notes.clock("submit"):
                answer = await self._ask("POST", "/v1/jobs", json=body, headers=headers)
            if answer.status_code == 202:
                job = answer.json()
                sent = Sent(self.name, job["id"], job["number"], outcome, score_us)
                self._notes.sent.append(sent)
                return sent
            if answer.status_code == 429:
                self._notes.refused[answer.json()["quota"]] += 1
            elif answer.status_code == 503:
                self._notes.unavailable += 1
            else:
                raise AssertionError(f"{answer.status_code}: {answer.text[:300]}")
            wait_s = float(answer.headers["Retry-After"])
            if wait_s > self._patience_s:
                break
            await asyncio.sleep(wait_s)
        self._notes.given_up += 1
        return None

    async def _until_ended(self, sent: Sent) -> None:
        async with asyncio.timeout(ENDED_S):
            while True:
                job = await self._get(f"/v1/jobs/{sent.job}", wait=30)
                if job["state"] in ("finished", "failed", "cancelled"):
                    return

    async def _get(self, path: str, **params: Any) -> dict[str, Any]:
        answer = await self._ask("GET", path, params=params)
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found

    async def _ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Ask, once more where the API closed a connection that it had kept: POSTs have a key."""
        try:
            return await self._http.request(method, path, **options)
        except httpx.RemoteProtocolError:
            self._notes.repeated += 1
            return await self._http.request(method, path, **options)


def board_of(sent: Sequence[Sent], out: frozenset[str] = frozenset()) -> list[Sent]:
    """The leaderboard as it must be; `out` are the jobs that were disqualified."""
    best: dict[str, Sent] = {}

    def order(each: Sent) -> tuple[float, int]:
        return each.geomean_us, each.number

    for each in sorted(sent, key=order, reverse=True):
        if each.counts and each.job not in out:
            best[each.owner] = each
    return sorted(best.values(), key=order)


def quotas_broken(jobs: Sequence[Mapping[str, Any]], quota: Mapping[str, float]) -> list[str]:
    """What the service let through beyond a quota, by its own record of when jobs came and began.

    Times are in seconds of Redis's clock. A request is counted some moments before its job is
    there, so a minute is taken two seconds shorter, and a job that ended in the last second was
    perhaps not yet charged.
    """
    broken = []
    by_owner: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for job in jobs:
        by_owner[job["owner"]].append(job)
    for owner, theirs in by_owner.items():
        created = sorted(job["created_s"] for job in theirs)
        for at_s in created:
            minute = [one for one in created if at_s - 58 < one <= at_s]
            if len(minute) > quota["jobs_a_minute"]:
                broken.append(f"{owner}: {len(minute)} jobs in a minute")
            spent_s = sum(
                job["finished_s"] - job["started_s"]
                for job in theirs
                if job["finished_s"] < at_s - 1
            )
            if spent_s >= quota["gpu_seconds_an_hour"] + 0.1:
                broken.append(f"{owner}: a job after {spent_s:.2f} s on GPUs")
        moves = [(job["created_s"], 1) for job in theirs] + [(j["started_s"], -1) for j in theirs]
        waiting = most = 0
        for _, move in sorted(moves):
            waiting += move
            most = max(most, waiting)
        if most > quota["jobs_waiting"]:
            broken.append(f"{owner}: {most} jobs waited")
    return broken
