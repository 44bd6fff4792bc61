"""Chaos: one Redis, two API processes, four workers, three producers, and an enemy.

Real are Redis, the APIs, the workers with their leases, sandboxes and process trees, the clients,
and every signal. All workers but `real_judges` have the judge of chaos_judge.py, for which a job is
a sandboxed process that sleeps: a real one costs seconds of a core.

The plan of attacks follows from the seed; when exactly a job meets one does not.
"""

import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redis import Redis
from redis.exceptions import RedisError

from tests.system.chaos_clients import (
    ENDED,
    Ledger,
    Observer,
    Patient,
    Producer,
    StateEvent,
    history,
    listed,
)
from tests.system.chaos_processes import (
    STAND_IN_WORKER,
    WORKER,
    Part,
    api,
    control_groups,
    environment,
    free_port,
    is_zombie,
    redis,
)
from worker.process_tree import adopt_orphans, children
from worker.sandbox.scratch import FOLDER, PREFIX

APIS, WORKERS, PRODUCERS = 2, 4, 3
TICK_S = 0.05
START_S = 120
SETTLE_S = 240
GONE_S = 20
REDIS_START_S = 2
REDIS_DOWN_LEASES = (0.1, 0.3, 0.6)
"""How long Redis is away, three times; beyond half a lease nobody reaps for one lease."""
ATTACKS = {
    ("worker", "kill"): 35,
    ("worker", "freeze"): 20,
    ("worker", "freeze with judge"): 10,
    ("api", "kill"): 20,
    ("api", "freeze"): 15,
}


@dataclass(frozen=True)
class Plan:
    seconds: float
    jobs: int
    lease_s: float
    beat_s: float
    seed: int
    gap_s: float
    """Mean time between two attacks."""
    real_judges: int = 1
    first_uid: int = 62_000
    server: str = "valkey9"


@dataclass(frozen=True)
class Attack:
    at_s: float
    what: str
    on: str
    lasts_s: float
    """Until it is started or woken again."""


@dataclass
class Loss:
    """A job whose worker was killed or frozen, and when its lease was last renewed."""

    job: str
    how: str
    renewed_at_s: float


def attacks(plan: Plan) -> list[Attack]:
    """What happens when, in order."""
    chance = random.Random(plan.seed)
    found = [
        Attack((number + 1) / 4 * plan.seconds, "kill", "redis-1", share * plan.lease_s)
        for number, share in enumerate(REDIS_DOWN_LEASES)
    ]
    at_s = plan.gap_s
    while at_s < plan.seconds:
        kind, what = chance.choices(list(ATTACKS), list(ATTACKS.values()))[0]
        on = f"{kind}-{chance.randint(1, APIS if kind == 'api' else WORKERS)}"
        longest_s = 2 * plan.lease_s if (kind, what[:6]) == ("worker", "freeze") else 6
        found.append(Attack(at_s, what, on, chance.uniform(0.2, longest_s)))
        at_s += chance.expovariate(1 / plan.gap_s)
    return sorted(found, key=lambda attack: attack.at_s)


@dataclass
class Stage:
    """All the processes, and what was done to them."""

    plan: Plan
    parts: dict[str, Part]
    redis_url: str
    urls: list[str]
    done: Counter[str] = field(default_factory=Counter)
    losses: list[Loss] = field(default_factory=list)
    outages: list[tuple[float, float]] = field(default_factory=list)
    due: dict[str, float] = field(default_factory=dict)

    def start(self) -> None:
        for part in self.parts.values():
            part.start()
        deadline = time.monotonic() + START_S
        while self._live_workers() < WORKERS:
            assert time.monotonic() < deadline, "workers did not come up"
            self.assert_all_alive()
            time.sleep(TICK_S)

    def _live_workers(self) -> int:
        with suppress(RedisError), Redis.from_url(self.redis_url, retry=None) as client:
            return int(client.zcard("halfbyte:workers"))
        return 0

    def assert_all_alive(self) -> None:
        for part in self.parts.values():
            assert part.alive, part.log.read_text()[-2000:]

    def attack(self, attack: Attack) -> None:
        part = self.parts[attack.on]
        if part.name in self.due:
            return  # it has not recovered from the last one
        if attack.what == "kill":
            part.kill()
        else:
            part.freeze(with_children="judge" in attack.what)
        self.due[part.name] = time.monotonic() + attack.lasts_s
        kind = part.name.partition("-")[0]
        self.done[f"{kind} {attack.what}"] += 1
        if kind == "redis":
            self.outages.append((time.time(), time.time() + attack.lasts_s + REDIS_START_S))
        if kind == "worker":
            self.losses += self._lost_by(part, attack.what)

    def _lost_by(self, part: Part, how: str) -> list[Loss]:
        found = []
        with (
            suppress(RedisError),
            Redis.from_url(self.redis_url, decode_responses=True, retry=None) as client,
        ):
            for job, ends_ms in client.zrange("halfbyte:leases", 0, -1, withscores=True):
                worker = client.hget(f"halfbyte:job:{job}", "worker")
                if worker and worker.startswith(f"{part.name}-"):
                    found.append(Loss(job, how, ends_ms / 1000 - self.plan.lease_s))
        return found

    def excuses(self, renewed_at_s: float, lost_at_s: float) -> bool:
        """Whether Redis was away while a lease ran out, or within a lease before."""
        return any(
            start < lost_at_s and renewed_at_s < end + self.plan.lease_s
            for start, end in self.outages
        )

    def recover(self, *, everything: bool = False) -> None:
        """Start and wake what is due; count what ended by itself, and start it as well."""
        now = time.monotonic()
        for part in self.parts.values():
            if part.name not in self.due and not part.alive:
                self.done[f"{part.name.partition('-')[0]} ended by itself"] += 1
                self.due[part.name] = now
            if part.name in self.due and (everything or now >= self.due[part.name]):
                del self.due[part.name]
                if part.frozen:
                    part.thaw()
                else:
                    part.start()
        self.bury()

    def bury(self) -> list[int]:
        """Reap the dead among the orphans that came to us; return the living ones."""
        own = {part.pid for part in self.parts.values()}
        orphans = set(children(os.getpid())) - own
        for pid in orphans:
            if is_zombie(pid):
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
        return [pid for pid in orphans if not is_zombie(pid)]

    def end(self) -> dict[str, int]:
        """Ask all to end, workers first; return the exit codes of the workers."""
        codes = {}
        for kind in ("worker", "api"):
            asked = [part for part in self.parts.values() if part.name.startswith(kind)]
            for part in asked:
                part.ask_to_end()
            codes.update({part.name: part.exit_code(60) for part in asked})
        return {name: code for name, code in codes.items() if name.startswith("worker")}


@contextmanager
def stage(plan: Plan) -> Iterator[Stage]:
    """Everything started; whatever is left at the end is killed."""
    with tempfile.TemporaryDirectory(prefix="chaos-") as name:
        folder = Path(name)
        (folder / "redis").mkdir()
        redis_port = free_port()
        redis_url = f"redis://127.0.0.1:{redis_port}/0"
        env = environment(
            redis_url, lease_s=plan.lease_s, beat_s=plan.beat_s, first_uid=plan.first_uid
        )
        ports = [free_port() for _ in range(APIS)]
        parts = [
            Part("redis-1", redis(redis_port, folder / "redis", kind=plan.server), env, folder)
        ]
        parts += [Part(f"api-{i + 1}", api(port), env, folder) for i, port in enumerate(ports)]
        for number in range(1, WORKERS + 1):
            argv = WORKER if number <= plan.real_judges else STAND_IN_WORKER
            named = env | {
                "HALFBYTE_WORKER_NAME": f"worker-{number}",
                "HALFBYTE_WORKER_SPARES": "1",
            }
            parts.append(Part(f"worker-{number}", argv, named, folder))
        urls = [f"http://127.0.0.1:{port}" for port in ports]
        everything = Stage(plan, {part.name: part for part in parts}, redis_url, urls)
        try:
            everything.start()
            yield everything
        finally:
            for part in reversed(parts):
                if part.alive:
                    part.kill()


def run(plan: Plan) -> dict[str, Any]:
    """Let it all happen; return what was found, with all that should not be under `wrong`."""
    adopt_orphans()
    folders = temporary_folders()
    with stage(plan) as everything:
        ledger = Ledger()
        observer = Observer(everything.urls, ledger)
        each = -(-plan.jobs // PRODUCERS)
        producers = [
            Producer(everything.urls, f"{plan.seed}-{i}", each, 0.95 * plan.seconds, ledger)
            for i in range(PRODUCERS)
        ]
        for thread in (observer, *producers):
            thread.start()
        storm(everything)
        calm_at = time.time()
        settled = settle(everything, producers, ledger)
        observer.finish()
        client = Patient(everything.urls, "judge")
        report = judged(everything, ledger, client, calm_at)
        client.close()
        if not settled:
            report["wrong"].append(f"not settled within {SETTLE_S} s")
        codes = everything.end()
        report["wrong"] += [f"{name} ended with {code}" for name, code in codes.items() if code]
        report["wrong"] += leftovers(everything, folders)
    return report


def storm(everything: Stage) -> None:
    began = time.monotonic()
    coming = attacks(everything.plan)
    while (now_s := time.monotonic() - began) < everything.plan.seconds:
        everything.recover()
        while coming and coming[0].at_s <= now_s:
            everything.attack(coming.pop(0))
        time.sleep(TICK_S)
    everything.recover(everything=True)


def settle(everything: Stage, producers: list[Producer], ledger: Ledger) -> bool:
    """Wait until every accepted job is seen at its end."""
    deadline = time.monotonic() + SETTLE_S
    while time.monotonic() < deadline:
        everything.recover()
        sent = not any(producer.is_alive() for producer in producers)
        if sent and len(ledger.first_seen) == len(ledger.accepted):
            return True
        time.sleep(TICK_S)
    return False


def judged(everything: Stage, ledger: Ledger, client: Patient, calm_at: float) -> dict[str, Any]:
    """Compare what was promised with what is there."""
    plan = everything.plan
    wrong = list(ledger.faults)
    jobs = list(ledger.accepted.values())
    views = {job: client.ask("GET", f"/v1/jobs/{job}").json() for job in jobs}
    histories = {job: history(client, job) for job in jobs}
    if len(jobs) < plan.jobs:
        wrong.append(f"{len(jobs)} jobs of {plan.jobs} were sent")
    if stray := listed(client) ^ set(jobs):
        wrong.append(f"{len(stray)} jobs are listed and were not accepted, or the other way round")
    for job, view in views.items():
        wrong += faults_of(view, histories[job], ledger.first_seen.get(job))
    real = sum((view["worker"] or "").startswith("worker-1-") for view in views.values())
    last_s = max(events[-1].at_s for events in histories.values())
    return {
        "seed": plan.seed,
        "seconds": plan.seconds,
        "lease_s": plan.lease_s,
        "jobs": len(jobs),
        "jobs_of_real_judges": real if plan.real_judges else 0,
        "attacks": dict(sorted(everything.done.items())),
        "states": dict(Counter(view["state"] for view in views.values())),
        "reasons": dict(
            Counter(view["error"]["reason"] for view in views.values() if view["error"])
        ),
        "second_attempts": sum(view["attempts"] == 2 for view in views.values()),
        "requests_repeated": ledger.repeats,
        "settled_s_after_the_storm": round(max(0.0, last_s - calm_at), 1),
        "redelivery": redelivery(everything, histories),
        "wrong": wrong,
    }


def faults_of(
    view: dict[str, Any], events: list[StateEvent], first_seen: dict[str, Any] | None
) -> Iterator[str]:
    """Say what is wrong with one job."""
    job, states = view["id"], [event.state for event in events]
    if view["state"] not in ENDED:
        yield f"{job} is {view['state']}"
    if sum(state in ENDED for state in states) != 1 or states[-1] != view["state"]:
        yield f"{job} went {states} and is {view['state']}"
    if view["attempts"] > 2:
        yield f"{job} had {view['attempts']} attempts"
    if view["error"] and view["error"]["reason"] != "worker_lost":
        yield f"{job} failed: {view['error']}"
    if view["verdict"] and view["verdict"]["outcome"] != "passed":
        yield f"{job} was judged {view['verdict']['summary']}"
    if first_seen is not None and first_seen != view:
        yield f"{job} changed after its end"


def redelivery(everything: Stage, histories: dict[str, list[StateEvent]]) -> dict[str, Any]:
    """How long after the last renewal a lost job was queued, and run, again.

    Where Redis was away meanwhile, or had been within a lease, the lease stood longer: not counted.
    """
    queued, ran, excused = [], [], 0
    for job, events in histories.items():
        renewals = sorted(loss.renewed_at_s for loss in everything.losses if loss.job == job)
        for index, event in enumerate(events[1:], start=1):
            if event.state not in ("queued", "failed"):
                continue
            renewed = [at_s for at_s in renewals if at_s < event.at_s]
            if not renewed or everything.excuses(renewed[-1], event.at_s):
                excused += 1
                continue
            queued.append(event.at_s - renewed[-1])
            if event.state == "queued" and len(events) > index + 1:
                ran.append(events[index + 1].at_s - renewed[-1])
    return {
        "leases_lost": len(queued) + excused,
        "measured": len(queued),
        "longest_until_queued_or_failed_s": round(max(queued), 2) if queued else None,
        "longest_until_running_again_s": round(max(ran), 2) if ran else None,
    }


def temporary_folders() -> set[Path]:
    return set(FOLDER.glob(f"{PREFIX}*"))


def leftovers(everything: Stage, before: set[Path]) -> list[str]:
    """Processes, control groups and folders that should be gone."""
    deadline = time.monotonic() + GONE_S
    while (everything.bury() or temporary_folders() - before) and time.monotonic() < deadline:
        time.sleep(TICK_S)
    processes = [
        f"process {pid}: {Path(f'/proc/{pid}/cmdline').read_bytes()!r}" for pid in everything.bury()
    ]
    groups = [f"control group {name}" for name in control_groups(everything.plan.first_uid)]
    return processes + groups + [f"folder {path}" for path in temporary_folders() - before]
