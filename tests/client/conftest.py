"""A service that answers as it is told to, over real HTTP, and the real command."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.client.answers import Answer, Request

HALFBYTE = str(Path(sys.executable).parent / "halfbyte")


class ToldService:
    """Answers the requests for a path in the order in which answers were told; the last repeats."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._told: dict[tuple[str, str], list[Answer]] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.requests.append(Request(self.command, self.path, dict(self.headers), body))
                outer._next(self.command, self.path.partition("?")[0]).send(self)

            do_GET = do_POST = do_PUT = do_DELETE = _answer

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def tell(self, method: str, path: str, *answers: Answer) -> None:
        self._told[method, path] = list(answers)

    def _next(self, method: str, path: str) -> Answer:
        answers = self._told.get((method, path)) or [Answer(404, {"title": "Not told"})]
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def of(self, method: str) -> list[Request]:
        return [request for request in self.requests if request.method == method]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def service() -> Iterator[ToldService]:
    told = ToldService()
    yield told
    told.close()


Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    """Ours, without what would change the command's mind."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("HALFBYTE_", "XDG_"))}
    return {**kept, "HOME": str(tmp_path), "COLUMNS": "100"}


@pytest.fixture
def halfbyte(environment: Mapping[str, str]) -> Command:
    """Run the command in a pipe and return how it ended."""

    def run(*arguments: str, **extra: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [HALFBYTE, *arguments],
            env={**environment, **extra},
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )

    return run


def body_of(request: Request) -> dict[str, object]:
    return json.loads(request.body)
