"""What a told service is told, and the jobs it tells of."""

import json
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

JOB = "0123456789abcdef"
JOBS = "/v1/jobs"
ONE = f"{JOBS}/{JOB}"
EVENTS = f"{ONE}/events"


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """A whole answer; with `cut` the connection breaks off in the middle of it."""

    status: int = 200
    content: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False

    def send(self, handler: BaseHTTPRequestHandler) -> None:
        raw = self.content if isinstance(self.content, bytes) else json.dumps(self.content).encode()
        handler.send_response(self.status)
        for name, value in {"Content-Type": "application/json", **self.headers}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(raw) + self.cut))
        handler.end_headers()
        handler.wfile.write(raw)
        if self.cut:
            handler.close_connection = True


def job(state: str = "finished", **changes: Any) -> dict[str, Any]:
    view = {
        "id": JOB, "number": 1, "state": state, "mode": "test", "problem": "nvfp4_group_gemm",
        "kernel": "auto", "filename": None, "sha256": None, "device": "any", "owner": "anonymous",
        "attempts": 1, "position": None, "created_at": "2026-01-02T03:04:05.000000Z",
        "started_at": None, "finished_at": None, "worker": None, "progress": None,
        "verdict": None, "error": None, "links": {},
    }  # fmt: skip
    return {**view, **changes}


def case(**changes: Any) -> dict[str, Any]:
    plain = {
        "index": 0, "m": [96, 128], "n": [128, 256], "k": [256, 512], "distribution": "official",
        "outcome": "passed", "reason": None, "message": None, "timing": None,
        "comparison": {
            "max_abs_error": 0.0, "max_rel_error": 0.0, "mismatched_elements": 0,
            "non_finite_elements": 0, "bit_exact": True, "worst": None,
        },
    }  # fmt: skip
    return {**plain, **changes}


def verdict(outcome: str = "passed", **changes: Any) -> dict[str, Any]:
    plain = {
        "outcome": outcome, "summary": f"{outcome}: 1 case", "cases": [case(outcome=outcome)],
        "score": None, "sandbox_level": 2, "emulated": True, "seed": "0f" * 16, "reproduce": None,
        "environment": {
            "host": "vm", "device": "cpu", "gpu": None, "cpu": "A CPU", "python": "3.11.7",
            "torch": "2.13.0", "triton": "3.9.0", "halfbyte": "0.1.0", "sandbox": "bubblewrap",
        },
        "log": {
            "stdout": "", "stderr": "", "stdout_bytes": 0, "stderr_bytes": 0, "truncated": False
        },
        "kernels": [],
    }  # fmt: skip
    return {**plain, **changes}


def finished(outcome: str = "passed", **changes: Any) -> dict[str, Any]:
    return job(verdict=verdict(outcome, **changes))


def stream(*events: tuple[str, dict[str, Any]], cut: bool = False) -> Answer:
    lines = [
        f"id: {number}-0\r\nevent: {kind}\r\ndata: {json.dumps(data)}\r\n\r\n"
        for number, (kind, data) in enumerate(events, 1)
    ]
    return Answer(200, "".join(lines).encode(), {"Content-Type": "text/event-stream"}, cut)


def problem(status: int, detail: str, *fields: tuple[str, str], **headers: str) -> Answer:
    document = {
        "type": "urn:halfbyte:problem:x", "title": "Title", "status": status, "detail": detail,
        "errors": [{"field": name, "message": message} for name, message in fields],
    }  # fmt: skip
    return Answer(status, document, {"Content-Type": "application/problem+json", **headers})
