"""Delivers callbacks: a job as it ended, signed, to the address that its request named.

So are entries of the feed of ranked verdicts, to the webhook that an admin registered. The
signature is that of Standard Webhooks: id, time and body under the secret of the job's owner, or of
that admin.
Whoever cannot be reached is tried again, ever later. The answer is looked at as far as its status:
no body is read, no redirect is followed.
"""

import asyncio
import logging
import secrets
import time
from collections import Counter
from datetime import UTC, datetime
from typing import NamedTuple

import httpx
from standardwebhooks import Webhook

from contract.deliveries import LINES, Deliveries, Delivery, Due, Line
from contract.errors import JobNotFound, QueueUnavailable
from contract.keys import KeyStore
from contract.queue import JobQueue
from contract.ranked_feed import RankedFeed
from service.callback_address import AddressRefused, CallbackAddresses
from service.openapi import VERSION
from service.settings import ServiceSettings
from service.views import job_json

AT_A_TIME = 16
"""Of either line: many of one kind, or a receiver that is slow, hold up none of the other."""
LOOK_S = 0.5
LAST_DELAY_S = 3600.0
GROWTH = 4
"""Each pause is so many times the one before: 5 s, 20 s, 80 s, ... an hour."""
GONE = 410
log = logging.getLogger(__name__)


class _Answer(NamedTuple):
    status: int | None
    error: str | None


class Courier:
    """Takes what is due and delivers it, several at a time."""

    def __init__(
        self, queue: JobQueue, settings: ServiceSettings, addresses: CallbackAddresses
    ) -> None:
        """Deliver for a queue; nothing happens before `run`."""
        self._queue = queue
        self._deliveries = Deliveries(queue.store)
        self._feed = RankedFeed(queue.store)
        self._keys = KeyStore(queue.store)
        self._settings = settings
        self._addresses = addresses
        self._under_way: dict[Line, dict[asyncio.Task[None], str]] = {line: {} for line in LINES}
        """With the owner of each."""

    async def run(self, stopping: asyncio.Event) -> None:
        """Deliver until stopped; what is under way then is left to others, after its hold."""
        context = httpx.create_ssl_context()
        context.load_default_certs()
        # No connection is used twice: one to the same address may be meant for another name.
        limits = httpx.Limits(max_keepalive_connections=0)
        async with httpx.AsyncClient(verify=context, trust_env=False, limits=limits) as http:
            while not stopping.is_set():
                try:
                    for line in LINES:
                        await self._start_due(http, line)
                except QueueUnavailable as error:
                    log.warning("callbacks wait for the queue", extra={"reason": str(error)})
                except Exception:
                    log.exception("callbacks failed")  # the next look may succeed
                try:
                    async with asyncio.timeout(LOOK_S):
                        await stopping.wait()
                except TimeoutError:
                    continue
            left = [task for tasks in self._under_way.values() for task in tasks]
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    async def _start_due(self, http: httpx.AsyncClient, line: Line) -> None:
        under_way = self._under_way[line]
        free = AT_A_TIME - len(under_way)
        if free == 0:
            return
        hold_s = 2 * self._settings.callback_timeout_s + 10
        attempts = self._settings.callback_attempts
        of_each = Counter(under_way.values())
        for due in await self._deliveries.take(line, free, hold_s, attempts, of_each):
            task = asyncio.create_task(self._deliver(http, due))
            under_way[task] = due.owner
            task.add_done_callback(under_way.pop)

    async def _deliver(self, http: httpx.AsyncClient, due: Due) -> None:
        at, began = datetime.now(UTC), time.monotonic()
        try:
            body, name = await self._content(due)
            secret = await self._keys.callback_secret(name)
            answer = await self._post(http, due, body, secret)
            delivery = Delivery(
                attempt=due.attempt,
                at=at,
                duration_ms=round(1000 * (time.monotonic() - began), 1),
                status=answer.status,
                error=answer.error,
            )
            await self._deliveries.note(due.id, delivery, self._again_s(due, answer))
            log.info("callback", extra={"job": due.id, **delivery.model_dump(mode="json")})
        except (JobNotFound, QueueUnavailable) as error:
            log.warning("callback not made", extra={"job": due.id, "reason": str(error)})
        except Exception:
            log.exception("callback failed", extra={"job": due.id})

    async def _content(self, due: Due) -> tuple[str, str]:
        """Return what is posted, and the name whose secret signs it."""
        if due.entry is None:
            job = await self._queue.get(due.id)
            return job_json(job), job.owner
        entry, webhook = await self._feed.entry(due.entry), await self._feed.webhook()
        if webhook is None:
            raise JobNotFound(due.id)
        return entry.model_dump_json(), webhook.name

    async def _post(self, http: httpx.AsyncClient, due: Due, body: str, secret: str) -> _Answer:
        message_id, now = f"msg_{due.message_id}", datetime.now(UTC)
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"halfbyte/{VERSION}",
            "webhook-id": message_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": Webhook(secret).sign(message_id, now, body),
        }
        try:
            async with asyncio.timeout(self._settings.callback_timeout_s):
                target = await self._addresses.target(due.url)
                async with http.stream(
                    "POST",
                    target.url,
                    content=body,
                    headers=headers | {"Host": target.host},
                    extensions={"sni_hostname": target.server_name},
                    timeout=None,
                    follow_redirects=False,
                ) as answer:
                    return _Answer(answer.status_code, _what_is_wrong(answer))
        except TimeoutError:
            return _Answer(None, f"no answer within {self._settings.callback_timeout_s:g} s")
        except AddressRefused as error:
            return _Answer(None, str(error))
        except httpx.HTTPError as error:
            return _Answer(None, f"{type(error).__name__}: {error}")

    def _again_s(self, due: Due, answer: _Answer) -> float | None:
        """Return the pause before the next attempt, with jitter; None where there is none."""
        over = due.attempt >= self._settings.callback_attempts
        if answer.error is None or answer.status == GONE or over:
            return None
        pause_s: float = self._settings.callback_first_delay_s * GROWTH ** (due.attempt - 1)
        jitter = 0.8 + secrets.randbelow(401) / 1000
        return min(pause_s, LAST_DELAY_S) * jitter


def _what_is_wrong(answer: httpx.Response) -> str | None:
    if answer.is_success:
        return None
    if answer.is_redirect:
        return f"answered {answer.status_code}; redirects are not followed"
    return f"answered {answer.status_code}"
