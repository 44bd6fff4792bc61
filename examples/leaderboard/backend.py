"""A leaderboard elsewhere, on what halfbyte has ranked: results in a file, boards as JSON.

    HALFBYTE_URL=http://127.0.0.1:8000 HALFBYTE_KEY=hb_... WEBHOOK_SECRET=whsec_... \\
        python examples/leaderboard/backend.py results.db 9000
    halfbyte admin webhook https://board.example/hook
    curl localhost:9000/nvfp4_group_gemm/H200

It reads the feed when it starts and whenever it is knocked at, from where it was. A key of role
`read` is enough; the secret is `halfbyte admin callback-secret NAME` of who registers the webhook.

It listens on loopback, for a proxy in front of it. To try it without one, beside the service, start
that with HALFBYTE_SERVICE_CALLBACK_PRIVATE=true and register http://127.0.0.1:9000/hook.
"""

import json
import os
import sqlite3
import sys
import threading
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
from standardwebhooks import Webhook, WebhookVerificationError

TABLES = """
    CREATE TABLE IF NOT EXISTS place (after INTEGER);
    CREATE TABLE IF NOT EXISTS result (
        job TEXT PRIMARY KEY, job_number INTEGER, owner TEXT, problem TEXT, device TEXT,
        geomean_us REAL);
"""
COLUMNS = ("job", "job_number", "owner", "problem", "device", "geomean_us")
BOARD = """
    SELECT owner, geomean_us, job FROM (
        SELECT *, row_number() OVER (PARTITION BY owner ORDER BY geomean_us, job_number) AS best
        FROM result WHERE problem = ? AND device = ?)
    WHERE best = 1 ORDER BY geomean_us, job_number
"""
LONGEST_BODY = 64 << 10


class Backend:
    """The results that count, and how far the feed was read, kept together by one transaction."""

    def __init__(self, http: httpx.Client, path: str) -> None:
        self._http = http
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, check_same_thread=False)
        self._db.executescript(TABLES)

    def catch_up(self) -> None:
        """Read the feed to its end; start anew where it cannot be gone on with."""
        with self._lock:
            after = self._after()
            while True:
                answer = self._http.get("/v1/ranked", params={"after": after, "limit": 1000})
                if answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY:
                    after = self._start_anew(answer.json()["newest"])
                    continue
                page = answer.raise_for_status().json()
                self._enter(page["entries"], page["next_after"])
                if page["next_after"] == after:
                    return
                after = page["next_after"]

    def board(self, problem: str, device: str) -> list[dict]:
        """Return the best of each owner, the fastest first; of equal times the one sent first."""
        with self._lock:
            rows = self._db.execute(BOARD, (problem, device)).fetchall()
        names = ("rank", "owner", "geomean_us", "job")
        return [dict(zip(names, (rank, *row), strict=True)) for rank, row in enumerate(rows, 1)]

    def _after(self) -> int:
        row = self._db.execute("SELECT after FROM place").fetchone()
        return row[0] if row else 0

    def _enter(self, entries: Iterable[dict], after: int) -> None:
        with self._db:
            for entry in entries:
                if entry["counts"]:
                    self._keep(entry)
                else:  # a verdict that does not count; disqualified; deleted; excluded
                    self._db.execute("DELETE FROM result WHERE job = ?", (entry["job"],))
            self._stand_at(after)

    def _start_anew(self, newest: int) -> int:
        """Take all that counts by now; what comes meanwhile is behind `newest`, and told again."""
        counting = list(self._all_that_counts())
        with self._db:
            self._db.execute("DELETE FROM result")
            for result in counting:
                self._keep(result)
            self._stand_at(newest)
        return newest

    def _all_that_counts(self) -> Iterator[dict]:
        for board in self._http.get("/v1/leaderboards").raise_for_status().json()["leaderboards"]:
            path, device = f"/v1/leaderboards/{board['problem']}", {"device": board["device"]}
            whole = self._http.get(f"{path}/export", params={"format": "json", **device})
            for entry in whole.raise_for_status().json()["entries"]:
                asked = {"owner": entry["owner"], "limit": 200, **device}
                while True:
                    page = self._http.get(f"{path}/history", params=asked).raise_for_status().json()
                    yield from (each for each in page["results"] if each["counts"])
                    if page["next_cursor"] is None:
                        break
                    asked["cursor"] = page["next_cursor"]

    def _keep(self, result: dict) -> None:
        values = [result[name] for name in COLUMNS]
        self._db.execute("INSERT OR REPLACE INTO result VALUES (?, ?, ?, ?, ?, ?)", values)

    def _stand_at(self, after: int) -> None:
        self._db.execute("DELETE FROM place")
        self._db.execute("INSERT INTO place VALUES (?)", (after,))


def handler_of(backend: Backend, secret: str) -> type[BaseHTTPRequestHandler]:
    """Return what answers: knocks at /hook, and /PROBLEM/DEVICE."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            if self.path != "/hook" or length > LONGEST_BODY:
                return self._answer(404)
            try:
                Webhook(secret).verify(self.rfile.read(length), dict(self.headers))
            except WebhookVerificationError:
                return self._answer(401)
            try:
                backend.catch_up()
            except httpx.HTTPError:
                return self._answer(503)  # knocked at again later
            return self._answer(204)

        def do_GET(self) -> None:
            problem, _, device = self.path.strip("/").partition("/")
            self._answer(200, json.dumps(backend.board(problem, device)).encode())

        def log_message(self, *_: object) -> None:
            pass

        def _answer(self, status: int, body: bytes = b"") -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler


def main() -> None:
    """Catch up, print the address, and serve for ever."""
    if len(sys.argv) != 3 or not {"HALFBYTE_URL", "WEBHOOK_SECRET"} <= os.environ.keys():
        sys.exit(__doc__)
    path, port = sys.argv[1:]
    key = os.environ.get("HALFBYTE_KEY")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with httpx.Client(base_url=os.environ["HALFBYTE_URL"], headers=headers, timeout=30) as http:
        backend = Backend(http, path)
        backend.catch_up()
        handler = handler_of(backend, os.environ["WEBHOOK_SECRET"])
        server = ThreadingHTTPServer(("127.0.0.1", int(port)), handler)
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
