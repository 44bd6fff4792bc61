"""Clients of a service under attack: producers that never give up, and an observer of results."""

import json
import random
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

ANSWER_S = 4.0
PAUSE_S = 0.2
RESENT = 0.1
"""Share of the accepted jobs that are sent once more under their key."""
CANCELLED = 0.04
LONG = 0.04
ENDED = ("finished", "failed", "cancelled")

View = dict[str, Any]


class GaveUp(Exception):
    """No answer for longer than anything here may take."""


class Patient:
    """Asks one API or another until one answers with anything below 500."""

    def __init__(self, urls: Sequence[str], seed: str, patience_s: float = 180) -> None:
        self._urls = urls
        self.random = random.Random(seed)
        self._patience_s = patience_s
        self._http = httpx.Client(timeout=ANSWER_S, trust_env=False)
        self.repeats = 0

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        deadline = time.monotonic() + self._patience_s
        while time.monotonic() < deadline:
            try:
                url = self.random.choice(self._urls)
                answer = self._http.request(method, url + path, **options)
                if answer.status_code < 500:
                    return answer
            except httpx.TransportError:
                pass
            self.repeats += 1
            time.sleep(PAUSE_S)
        raise GaveUp(f"{method} {path}")

    def close(self) -> None:
        self._http.close()


def source(lasts_s: float, number: int) -> str:
    """A file that the real judge passes, and that the stand-in sleeps for."""
    return (
        f"# lasts {lasts_s:.2f} s, {number}\nfrom reference import ref_kernel\n"
        "def custom_kernel(data):\n    return ref_kernel(data)\n"
    )


@dataclass
class Ledger:
    """What clients were told. Shared by threads; each entry is written once."""

    accepted: dict[str, str] = field(default_factory=dict)
    """Job by Idempotency-Key."""
    first_seen: dict[str, View] = field(default_factory=dict)
    """How an ended job looked when it was first seen so."""
    faults: list[str] = field(default_factory=list)
    repeats: int = 0
    cancels: int = 0


class Producer(threading.Thread):
    """Sends jobs under keys of its own, some twice, and cancels a few."""

    def __init__(
        self, urls: Sequence[str], seed: str, jobs: int, over_s: float, ledger: Ledger
    ) -> None:
        super().__init__(name=seed, daemon=True)
        self._client = Patient(urls, seed)
        self._key = seed
        self._jobs = jobs
        self._gap_s = over_s / jobs
        self._ledger = ledger

    def run(self) -> None:
        began = time.monotonic()
        try:
            for number in range(self._jobs):
                due = began + number * self._gap_s
                time.sleep(max(0.0, due - time.monotonic()))
                self._send(number)
        except Exception as error:
            self._ledger.faults.append(f"{self.name}: {error!r}")
        finally:
            self._ledger.repeats += self._client.repeats
            self._client.close()

    def _send(self, number: int) -> None:
        chance = self._client.random
        lasts_s = chance.uniform(2, 5) if chance.random() < LONG else chance.uniform(0.05, 1.5)
        key = f"{self._key}-{number}"
        body = {"mode": "test", "m": [2], "n": [3], "k": [16], "source": source(lasts_s, number)}
        for _ in range(2 if chance.random() < RESENT else 1):
            answer = self._client.ask(
                "POST", "/v1/jobs", json=body, headers={"Idempotency-Key": key}
            )
            if answer.status_code != 202:
                raise AssertionError(f"{answer.status_code} for {key}: {answer.text[:300]}")
            job = answer.json()["id"]
            if self._ledger.accepted.setdefault(key, job) != job:
                self._ledger.faults.append(f"{key} is two jobs")
        if chance.random() < CANCELLED:
            self._ledger.cancels += 1
            self._client.ask("DELETE", f"/v1/jobs/{job}")


class Observer(threading.Thread):
    """Looks at every job until it has ended, and keeps what it saw then."""

    def __init__(self, urls: Sequence[str], ledger: Ledger) -> None:
        super().__init__(name="observer", daemon=True)
        self._client = Patient(urls, "observer")
        self._ledger = ledger
        self._stopping = threading.Event()

    def run(self) -> None:
        try:
            while not self._stopping.wait(0.3):
                for job in self._open():
                    view = self._client.ask("GET", f"/v1/jobs/{job}").json()
                    if view.get("state") in ENDED:
                        self._ledger.first_seen[job] = view
        except Exception as error:
            self._ledger.faults.append(f"observer: {error!r}")
        finally:
            self._client.close()

    def _open(self) -> list[str]:
        return [
            job
            for job in list(self._ledger.accepted.values())
            if job not in self._ledger.first_seen
        ]

    def finish(self) -> None:
        self._stopping.set()
        self.join()


@dataclass(frozen=True)
class StateEvent:
    """A job entered a state, at Redis's time."""

    at_s: float
    state: str


def history(client: Patient, job: str) -> list[StateEvent]:
    """The states of an ended job, as its event stream tells them."""
    text = client.ask("GET", f"/v1/jobs/{job}/events").text
    found = []
    for block in text.replace("\r\n", "\n").split("\n\n"):
        fields: Mapping[str, str] = dict(
            line.split(": ", 1) for line in block.split("\n") if ": " in line
        )
        if fields.get("event") == "state":
            milliseconds = int(fields["id"].partition("-")[0])
            found.append(StateEvent(milliseconds / 1000, json.loads(fields["data"])["state"]))
    return found


def listed(client: Patient) -> set[str]:
    """Every job there is."""
    found: set[str] = set()
    cursor: str | None = ""
    while cursor is not None:
        page = {"limit": 200, **({"cursor": cursor} if cursor else {})}
        answer = client.ask("GET", "/v1/jobs", params=page).json()
        found |= {job["id"] for job in answer["jobs"]}
        cursor = answer["next_cursor"]
    return found
