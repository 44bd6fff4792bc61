"""Fuzz what bench.fuzz_http cannot know of: the pages, their files, and /popcorn.

    .venv/bin/python -m bench.fuzz_pages [--minutes 10] [--seed 1]

/openapi.json leaves these roads out, so requests are drawn here (bench.hostile_requests), at a
service with keys of every role and jobs in every state. Ends with 1 where an answer was a 5xx that
is no 503, did not come, held markup or a header that a client had sent, or led elsewhere; where
/healthz kept somebody waiting; or where the service logged an error or ended.
"""

import argparse
import asyncio
import contextlib
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench.fuzz_http import end_jobs
from bench.hostile_requests import MARK, Attacker, Hostile, roads_of
from bench.own_service import connected, listening, processes
from contract.contest import Contest
from contract.invites import Invites
from contract.keys import KeyStore, Role
from contract.queue import JobQueue
from contract.settings import QueueSettings
from service.app import create_app
from service.settings import ServiceSettings
from tests.system.chaos_processes import is_zombie, look_at

AT_A_TIME = 8
ANSWER_S = 15.0
STREAM_S = 0.5
"""For how long a client listens to a stream before it goes away."""
HEALTHY_S = 2.0
"""What /healthz may take beside it all, on a busy machine."""
LOOK_S = 0.2
_GO_ON = b"HTTP/1.1 100 Continue\r\n\r\n"
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3})")
_AWAY = re.compile(rb"\r\nlocation: (?!/(?!/))", re.IGNORECASE)


class Found:
    """What was answered, and what should not have been."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.statuses: Counter[str] = Counter()
        self.wrong: list[tuple[str, bytes]] = []
        self.health_s: list[float] = []
        self.ended = False

    def look_at(self, sent: Hostile, answer: bytes) -> None:
        """Count an answer, and note what is wrong with it."""
        if sent.leaves_after is not None:
            return
        head, _, body = answer.removeprefix(_GO_ON).partition(b"\r\n\r\n")
        found = _STATUS.match(head)
        status = found[1].decode() if found else "none"
        self.statuses[status] += 1
        markup = b"\r\ncontent-type: text/html" in head.lower() or b"image/svg" in head
        complaints = {
            "no answer": found is None,
            f"status {status}": status.startswith("5") and status != "503",
            "markup": markup and f"<{MARK}".encode() in body,
            "header": f"\n{MARK}".encode() in head.lower(),
            "leads away": _AWAY.search(head) is not None,
        }
        self.wrong += [(what, sent.text[:600]) for what, is_so in complaints.items() if is_so]


async def send(port: int, hostile: Hostile) -> bytes:
    """Send a request and return what is answered; of a stream, its beginning."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = b""
    try:
        writer.write(hostile.text[: hostile.leaves_after])
        await writer.drain()
        if hostile.leaves_after is not None:
            return answer
        async with asyncio.timeout(ANSWER_S) as limit:
            while more := await reader.read(1 << 16):
                if b"text/event-stream" in more[:2000] and not answer:
                    limit.reschedule(asyncio.get_running_loop().time() + STREAM_S)
                answer += more
    except (TimeoutError, ConnectionError):
        pass
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
    return answer


async def attack(port: int, attacker: Attacker, tokens: Sequence[str], found: Found) -> None:
    """Send one request after another."""
    while True:
        hostile = attacker.draw(tokens)
        found.look_at(hostile, await send(port, hostile))


async def look_at_health(port: int, found: Found) -> None:
    """Ask for /healthz all the while."""
    text = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    while True:
        began_s = time.monotonic()
        health = Hostile(text, None)
        found.look_at(health, await send(port, health))
        found.health_s.append(time.monotonic() - began_s)
        await asyncio.sleep(LOOK_S)


async def organise(queue: JobQueue, known: dict[str, Sequence[str]]) -> None:
    """Undo what an admin's key stopped and hid, and tell what there is."""
    contest, invites = Contest(queue.store), Invites(queue.store)
    while True:
        await contest.accept(True)
        for name in await contest.hidden():
            await contest.show(name, True)
        page, _ = await queue.list(limit=50)
        known |= {name: [each.job.id for each in page] for name in ("job_id", "a", "b")}
        known["number"] = [str(each.job.number) for each in page]
        known["code"] = [each.code for each in (await invites.list())[-20:]]
        await asyncio.sleep(LOOK_S)


async def fuzz(folder: Path, minutes: float, seed: int) -> Found:
    """Attack a service of its own, which logs into a folder."""
    found, known = Found(), dict[str, Sequence[str]]()
    with processes(folder) as (url, port, pid):
        await listening(port)
        async with connected(url) as (queue, _):
            keys = KeyStore(queue.store)
            made = [await keys.create(f"one-{role}", role) for role in Role for _ in range(2)]
            tokens = known["key"] = [each.token for each in made]
            app = create_app(ServiceSettings(), QueueSettings(redis_url=url))
            attacker = Attacker(roads_of(app), seed, known)
            async with asyncio.TaskGroup() as group:
                work = [attack(port, attacker, tokens, found) for _ in range(AT_A_TIME)]
                beside = end_jobs(queue), organise(queue, known), look_at_health(port, found)
                tasks = [group.create_task(each) for each in (*work, *beside)]
                await asyncio.sleep(60 * minutes)
                for task in tasks:
                    task.cancel()
        found.ended = look_at(pid) is None or is_zombie(pid)
    return found


def report(found: Found, log: str) -> int:
    """Print what was found; 1 where that was something."""
    errors = [line for line in log.splitlines() if " ERROR " in line]
    health_s = sorted(found.health_s)
    median_s, p99_s = (health_s[len(health_s) * share // 100] for share in (50, 99))
    print({"answers": dict(sorted(found.statuses.items())), "errors logged": len(errors)})
    print(f"/healthz: median {median_s:.3f} s, p99 {p99_s:.3f} s, longest {health_s[-1]:.3f} s")
    for what, how_often in Counter(what for what, _ in found.wrong).items():
        first = next(text for each, text in found.wrong if each == what)
        print(f"{how_often} x {what}, first:", first, sep="\n")
    print(*errors[:10], sep="\n")
    return 1 if found.wrong or errors or found.ended or p99_s > HEALTHY_S else 0


def main() -> int:
    """Fuzz for as long as asked."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fuzz-pages-") as name:
        found = asyncio.run(fuzz(Path(name), options.minutes, options.seed))
        status = report(found, (Path(name) / "api.log").read_text())
    print("something found" if status else "nothing found")
    return status


if __name__ == "__main__":
    sys.exit(main())
