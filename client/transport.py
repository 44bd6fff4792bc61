"""One connection to a service: the key, patience with it, and errors as they are raised.

Reads are tried again while there is no answer, or the service says 503; so are submissions, which
carry an Idempotency-Key of the client's own making: however often one arrives, it is one job. Where
nothing could be connected to from the start there is nothing to wait for: that is told at once.
"""

import logging
import time
from typing import Self

import httpx

from client.answers import error_of, is_hopeless, no_json, retry_after_s, unreachable
from client.errors import ApiError, Unreachable
from client.terminal import plain

CONNECT_S = 5.0
ANSWER_S = 30.0
FIRST_DELAY_S = 0.2
LAST_DELAY_S = 5.0
LOOPBACK = ("127.0.0.1", "::1", "localhost")
log = logging.getLogger(__name__)


class Transport:
    """One service, and the key that it knows us by.

    Every method of a client raises Unreachable, Refused or ServiceFailed (see client.errors).
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        patience_s: float = 10.0,
        *,
        name: str | None = None,
    ) -> None:
        """Speak to the service at `url`, and try for `patience_s` before giving up on an answer.

        `name` is whose the jobs are while the service has no keys.

        Raises:
            ValueError: `url` is no http or https address, or `key` or `name` cannot be sent.

        """
        self.url = url.rstrip("/")
        self._patience_s = patience_s
        self._met = False
        """Whether anything has answered here yet."""
        try:
            parsed = httpx.URL(self.url)
        except httpx.InvalidURL as error:
            raise ValueError(f"{url!r} is no address: {error}") from None
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise ValueError(f"{url!r} is no address of the form http://HOST:PORT")
        for what, text in (("key", key), ("name", name)):
            if text and not (text.isascii() and text.isprintable()):
                raise ValueError(f"the {what} has characters that no {what} has")
        said = {"Authorization": key and f"Bearer {key}", "Halfbyte-Name": name}
        self._http = httpx.Client(
            headers={header: value for header, value in said.items() if value},
            timeout=httpx.Timeout(ANSWER_S, connect=CONNECT_S),
            # A proxy set for the network at large does not reach this machine's own ports. Whom
            # to trust (SSL_CERT_FILE) is another matter.
            trust_env=parsed.host not in LOOPBACK,
            verify=httpx.create_ssl_context() if parsed.scheme == "https" else True,
        )

    def __enter__(self) -> Self:
        """Return the client itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self._http.close()

    def _json(self, request: httpx.Request) -> object:
        answer = self._send(request)
        try:
            return answer.json()
        except ValueError:
            raise no_json(answer) from None

    def _send(self, request: httpx.Request) -> httpx.Response:
        """Send until there is an answer that is worth keeping, as long as patience lasts."""
        delay_s = FIRST_DELAY_S
        patience_ends: float | None = None
        while True:
            error: ApiError | Unreachable
            try:
                answer = self._http.send(request)
                self._met = True
                if answer.is_success:
                    return answer
                error, pause_s = error_of(answer), retry_after_s(answer)
            except httpx.TransportError as cause:
                hopeless = is_hopeless(cause, met=self._met)
                error, pause_s = unreachable(self.url, cause), None if hopeless else 0.0
            now = time.monotonic()
            if pause_s is None or now + pause_s > (patience_ends or now + self._patience_s):
                raise error
            if patience_ends is None:
                patience_ends = now + self._patience_s
                log.warning("%s; trying for %g s more", plain(str(error)), self._patience_s)
            time.sleep(max(pause_s, delay_s))
            delay_s = min(2 * delay_s, LAST_DELAY_S)
