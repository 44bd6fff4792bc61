"""Is ready at the first or second look; lists as workers the files that stand-in workers wrote."""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HERE = Path(os.environ["STAND_IN_DIR"])
WAITS = {"type": "urn:halfbyte:problem:queue-unavailable", "detail": "no queue \x1b[2J yet"}
not_ready = [True] if os.environ.get("STAND_IN_API_WAITS") else []


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        workers = [json.loads(path.read_text()) for path in HERE.glob("worker-*.json")]
        waits = not_ready and not_ready.pop()
        body = json.dumps(WAITS if waits else {"workers": workers}).encode()
        self.send_response(503 if waits else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


arguments = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=True))
if os.environ.get("STAND_IN_API_FAILS"):
    sys.exit("no luck \x1b[2J today")
(HERE / "api.json").write_text(json.dumps([os.getpid(), os.environ["HALFBYTE_QUEUE_REDIS_URL"]]))
ThreadingHTTPServer((arguments["--host"], int(arguments["--port"])), Handler).serve_forever()
