"""`halfbyte queue`, `workers` and `drain`: what operators see and steer."""

import json

import pytest

from client.operations_tables import duration
from tests.client.answers import Answer, problem

WORKER = {
    "id": "vm-12-abc\x1b[2J", "pid": 12, "host": "vm", "device": "cpu", "serves": ["cpu", "any"],
    "gpu": None, "python": "3.11", "sandbox_level": 2, "job": "f" * 32, "state": "busy",
    "heartbeat_at": "2026-01-02T03:04:05.000000Z",
}  # fmt: skip
QUEUE = {
    "waiting": 13, "running": 1, "workers": 2,
    "lines": [
        {"device": "H200", "mode": "benchmark", "waiting": 12, "oldest_s": 130.0},
        {"device": "any", "mode": "test", "waiting": 1, "oldest_s": 4.2},
    ],
}  # fmt: skip
IDLE = {"waiting": 0, "running": 0, "workers": 0, "lines": []}


def test_queue_shows_its_lines_and_a_sum(halfbyte, service):
    service.tell("GET", "/v1/queue", Answer(200, QUEUE))
    done = halfbyte("queue", "--url", service.url, "--key", "hb_x")
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows == [
        ["device", "mode", "waiting", "oldest"],
        ["H200", "benchmark", "12", "2", "min"],
        ["any", "test", "1", "4", "s"],
        ["13", "waiting,", "1", "running,", "2", "workers"],
    ]
    assert service.requests[0].headers["Authorization"] == "Bearer hb_x"


def test_an_empty_queue_is_a_line(halfbyte, service):
    service.tell("GET", "/v1/queue", Answer(200, IDLE))
    done = halfbyte("queue", "--url", service.url)
    assert done.stdout == "0 waiting, 0 running, 0 workers\n"


def test_one_worker_is_not_workers(halfbyte, service):
    service.tell("GET", "/v1/queue", Answer(200, IDLE | {"workers": 1}))
    done = halfbyte("queue", "--url", service.url)
    assert done.stdout == "0 waiting, 0 running, 1 worker\n"


def test_workers_are_a_table_without_what_a_terminal_acts_on(halfbyte, service):
    service.tell("GET", "/v1/workers", Answer(200, {"workers": [WORKER]}))
    done = halfbyte("workers", "--url", service.url)
    head, row = (line.split() for line in done.stdout.splitlines())
    assert head == ["id", "state", "device", "level", "job"]
    assert row == [r"vm-12-abc\x1b[2J", "busy", "cpu", "2", "f" * 32]


def test_a_worker_that_can_do_nothing_says_why(halfbyte, service):
    broken = {**WORKER, "state": "unhealthy", "job": None, "reason": "it multiplies\x1b[2J wrongly"}
    service.tell("GET", "/v1/workers", Answer(200, {"workers": [WORKER, broken]}))
    head, fit, unfit = halfbyte("workers", "--url", service.url).stdout.splitlines()
    assert head.split()[-1] == "why"
    assert fit.split()[-1] == "f" * 32
    assert unfit.endswith(r"it multiplies\x1b[2J wrongly")


def test_no_workers_are_said_beside_the_output(halfbyte, service):
    service.tell("GET", "/v1/workers", Answer(200, {"workers": []}))
    done = halfbyte("workers", "--url", service.url)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "no workers\n")


def test_drain_names_the_worker_whatever_it_is_called(halfbyte, service):
    service.tell("POST", "/v1/workers/a%2Fb%201/drain", Answer(202, {**WORKER, "id": "a/b 1"}))
    done = halfbyte("drain", "a/b 1", "--url", service.url)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("a/b 1 drains")


def test_what_the_service_refuses_is_said(halfbyte, service):
    service.tell("POST", "/v1/workers/w/drain", problem(403, "this takes a key of role `admin`"))
    done = halfbyte("drain", "w", "--url", service.url)
    assert done.returncode == 2
    assert "this takes a key of role `admin`" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "method", "path", "answer"),
    [
        (("queue",), "GET", "/v1/queue", QUEUE),
        (("workers",), "GET", "/v1/workers", {"workers": [WORKER]}),
        (("drain", "w"), "POST", "/v1/workers/w/drain", WORKER),
    ],
)
def test_json_is_the_answer_and_nothing_else(halfbyte, service, arguments, method, path, answer):
    service.tell(method, path, Answer(200, answer))
    assert json.loads(halfbyte(*arguments, "--json", "--url", service.url).stdout) == answer


def test_durations_take_little_room():
    assert [duration(seconds) for seconds in (0, 99, 100, 5_999, 6_000, 90_000)] == [
        *("0 s", "99 s", "2 min", "100 min", "1.7 h", "25.0 h")
    ]
