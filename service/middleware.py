"""What is done for every request: answer HEAD, refuse other sites' pages, count, log."""

import functools
import ipaddress
import logging
import re
import time
from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.metrics import Metrics
from service.problem_document import status_problem

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
LOOPBACK = "localhost"
ADD_A_NAME = "its operator adds further names, as that of a proxy, to HALFBYTE_SERVICE_HOSTS"
OPEN_UP = (
    "behind a proxy with a name of its own it takes HALFBYTE_SERVICE_TRUSTED_NETWORK=true, and "
    "that name in HALFBYTE_SERVICE_HOSTS"
)
log = logging.getLogger(__name__)


class Observe:
    """Counts and logs requests once they are answered."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        """Stand around `app`."""
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and look at the clock and the status."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        self._metrics.request_came()
        started = time.perf_counter()
        status = 500

        async def seen(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, seen)
        finally:
            duration_s = time.perf_counter() - started
            route = getattr(scope.get("route"), "path", "none")
            self._metrics.request_answered(scope["method"], route, status, duration_s)
            if scope["method"] not in SAFE_METHODS or status >= 400:  # polls would drown all else
                log.info(
                    "request",
                    extra={
                        "method": scope["method"],
                        "path": scope["path"],
                        "status": status,
                        "duration_ms": round(1000 * duration_s, 1),
                    },
                )


class HeadAsGet:
    """Answers HEAD as GET; the server leaves the body out, as it knows what was asked."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand around `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; a stream of events, which ends with its job, has no HEAD."""
        head = scope["type"] == "http" and scope["method"] == "HEAD"
        if head and not scope["path"].endswith("/events"):
            scope = {**scope, "method": "GET"}
        await self._app(scope, receive, send)


class OneSlash:
    """Takes several slashes for one: clients put paths behind an address that may end with one."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand around `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] == "http" and "//" in scope["path"]:
            scope["path"] = re.sub("/{2,}", "/", scope["path"])
        await self._app(scope, receive, send)


class SameSite:
    """Refuses what a web page of another site makes its reader's browser send.

    A browser names the page's origin with every request that may change something; other programs
    name none. Where the service listens on loopback only, or knows its names, it also answers to
    those and to the names of loopback only: another site's name that leads here (DNS rebinding)
    would pass for the same origin.
    """

    def __init__(self, app: ASGIApp, loopback_only: bool, hosts: Sequence[str] = ()) -> None:
        """Stand around `app`."""
        self._app = app
        self._picky = loopback_only or bool(hosts)
        self._remedy = OPEN_UP if loopback_only else ADD_A_NAME
        self._hosts = frozenset(() if loopback_only else map(str.lower, hosts))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            host, origin = headers.get("host", ""), headers.get("origin")
            if self._picky and host and _named(host) not in self._hosts | {LOOPBACK}:
                names = ", ".join(sorted(self._hosts | {LOOPBACK}))
                detail = f"this service is not {host}, but {names}; {self._remedy}"
                refusal = status_problem(421, detail)
                return await refusal(scope, receive, send)
            if scope["method"] not in SAFE_METHODS and not _same_site(origin, host):
                refusal = status_problem(403, "pages of other sites may not use this service")
                return await refusal(scope, receive, send)
        await self._app(scope, receive, send)


def _same_site(origin: str | None, host: str) -> bool:
    return origin is None or origin.partition("://")[2].lower() == host.lower()


@functools.lru_cache(maxsize=64)
def _named(host: str) -> str:
    """Return the name of a Host header, one and the same for all names of loopback."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
    return LOOPBACK if is_loopback(name) else name


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine itself."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
