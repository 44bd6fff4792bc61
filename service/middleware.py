"""What is done for every request: refuse other sites' pages, count, log."""

import ipaddress
import logging
import time
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.metrics import Metrics
from service.problem_document import status_problem

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
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
            log.info(
                "request",
                extra={
                    "method": scope["method"],
                    "path": scope["path"],
                    "status": status,
                    "duration_ms": round(1000 * duration_s, 1),
                },
            )


class SameSite:
    """Refuses writes that a web page of another site makes the user's browser send.

    A browser names the page's origin with every such request, other programs name none. Where the
    service listens on loopback only, a name that merely leads there (DNS rebinding) is no excuse.
    """

    def __init__(self, app: ASGIApp, loopback_only: bool) -> None:
        """Stand around `app`."""
        self._app = app
        self._loopback_only = loopback_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] == "http" and scope["method"] not in SAFE_METHODS:
            headers = Headers(scope=scope)
            origin = headers.get("origin")
            if origin is not None and not self._is_ours(origin, headers.get("host", "")):
                refusal = status_problem(403, "pages of other sites may not use this service")
                return await refusal(scope, receive, send)
        await self._app(scope, receive, send)

    def _is_ours(self, origin: str, host: str) -> bool:
        try:
            parts = urlsplit(origin)
            name = parts.hostname or ""
        except ValueError:
            return False
        if parts.netloc.lower() != host.lower():
            return False
        return is_loopback(name) if self._loopback_only else True


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine itself."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
