"""Problem documents as pages, for browsers; everybody else gets them as they are.

It stands around the whole application, so that no route has to know who asks, and a 401 becomes the
page to sign in on.
"""

import json
import logging
from urllib.parse import quote

from fastapi import Response
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.pages.render import page
from service.problem_document import MEDIA_TYPE, status_problem

log = logging.getLogger(__name__)
_KEPT_HEADERS = ("retry-after", "www-authenticate", "allow")


class ProblemPages:
    """Answers browsers with pages where the service answers with problems."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand around `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and hold a problem back to make a page of it."""
        if scope["type"] != "http" or not _is_browser(Headers(scope=scope)):
            return await self._app(scope, receive, send)
        held = _Held(send)
        try:
            await self._app(scope, receive, held.send)
        except Exception as error:
            if held.started:
                raise
            log.error("request failed", exc_info=error, extra={"path": scope["path"]})
            held.take(status_problem(500, "an error of ours; it has been logged"))
        if held.problem:
            await _page_of(held, scope)(scope, receive, send)


class _Held:
    """Sends an answer on, unless it is a problem: that is kept."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.started = False
        self.problem = False
        self.status = 200
        self.headers = Headers()
        self.body = b""

    def take(self, response: Response) -> None:
        self.problem, self.status, self.body = True, response.status_code, bytes(response.body)

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.headers = Headers(raw=message["headers"])
            self.problem = self.headers.get("content-type") == MEDIA_TYPE
            self.status, self.started = message["status"], not self.problem
        elif self.problem:
            self.body += message.get("body", b"")
        if not self.problem:
            await self._send(message)


def _page_of(held: _Held, scope: Scope) -> Response:
    problem = json.loads(held.body)
    kept = {name: held.headers[name] for name in _KEPT_HEADERS if name in held.headers}
    headers = kept | {"Vary": "Accept"}
    if held.status == 401:
        return sign_in_page(scope, headers)
    retry_s = kept.get("retry-after") if scope["method"] == "GET" else None
    return page("error.html", None, {"problem": problem, "retry_s": retry_s}, held.status, headers)


def sign_in_page(scope: Scope, headers: dict[str, str]) -> Response:
    """Return the page that asks for a key, and then leads to what was asked for."""
    wanted = scope["path"] if scope["method"] == "GET" else "/"
    if scope["method"] == "GET" and scope["query_string"]:
        wanted += f"?{scope['query_string'].decode('latin-1')}"
    elsewhere = Headers(scope=scope).get("sec-fetch-site") == "cross-site"
    values = {"next": quote(wanted, safe="/?=&%"), "elsewhere": elsewhere, "refused": None}
    return page("sign_in.html", None, values, 401, headers)


def _is_browser(headers: Headers) -> bool:
    return "text/html" in headers.get("accept", "")
