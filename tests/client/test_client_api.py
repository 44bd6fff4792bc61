"""The client as a library, against answers over real HTTP."""

import base64
import logging
import socket
import threading

import pytest

from client import transport
from client.api import Halfbyte
from client.errors import Refused, ServiceFailed, Unreachable
from tests.client.answers import EVENTS, JOB, JOBS, ONE, Answer, finished, job, problem, stream
from tests.client.conftest import ToldService, body_of

AWAY = problem(503, "the queue is away", **{"Retry-After": "0"})


@pytest.fixture
def client(service: ToldService):
    with Halfbyte(service.url, patience_s=5) as client:
        yield client


def test_a_file_arrives_byte_for_byte(client, service):
    source = b"\xef\xbb\xbf# \xff\r\n\x00"
    service.tell("POST", JOBS, Answer(202, job("queued")))
    client.submit_file(source, "my kernel.py", mode="test", device="cpu")
    (request,) = service.requests
    body = body_of(request)
    assert base64.b64decode(body.pop("source_base64")) == source
    assert body == {"filename": "my kernel.py", "mode": "test", "device": "cpu"}


def test_one_case_is_sent_as_sizes_so_that_refusals_name_them(client, service):
    service.tell("POST", JOBS, Answer(202, job("queued")))
    case = {"m": [1], "n": [2], "k": [16], "seed": 7}
    client.submit_sizes([case])
    client.submit_sizes([case, case], kernel="portable")
    client.submit_sizes()
    one, two, official = map(body_of, service.requests)
    assert one == {"kernel": "auto", **case}
    assert two == {"kernel": "portable", "cases": [case, case]}
    assert official == {"kernel": "auto"}


def test_a_submission_is_repeated_with_its_own_key_until_it_is_accepted(client, service, caplog):
    cut = Answer(202, job("queued"), cut=True)
    service.tell("POST", JOBS, AWAY, cut, AWAY, Answer(202, job("queued")))
    assert client.submit_sizes()["id"] == JOB
    assert client.submit_sizes()["id"] == JOB
    keys = [request.headers["Idempotency-Key"] for request in service.requests]
    assert len(keys) == 5
    assert len(set(keys[:4])) == 1
    assert keys[4] != keys[0]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "the queue is away" in caplog.text


@pytest.mark.parametrize("status", [400, 404, 413, 422, 500, 503])
def test_what_asks_for_no_repetition_is_not_repeated(client, service, status):
    service.tell("POST", JOBS, problem(status, "no"))
    with pytest.raises(Refused if status < 500 else ServiceFailed, match=f"no .HTTP {status}"):
        client.submit_sizes()
    assert len(service.requests) == 1


def test_patience_ends(service):
    service.tell("GET", ONE, problem(503, "away", **{"Retry-After": "0"}))
    with (
        Halfbyte(service.url, patience_s=0.5) as client,
        pytest.raises(ServiceFailed, match="away"),
    ):
        client.get(JOB)
    assert len(service.requests) > 1


def test_a_wait_longer_than_patience_is_not_begun(client, service):
    service.tell("GET", ONE, problem(429, "slow down", **{"Retry-After": "3600"}))
    with pytest.raises(Refused, match="slow down"):
        client.get(JOB)
    assert len(service.requests) == 1


def test_a_service_that_went_away_and_comes_back_is_reached():
    class Opening(logging.Handler):
        """Opens the port again once the client has said that nobody answers."""

        def emit(self, record: logging.LogRecord) -> None:
            threading.Thread(target=answer, args=(listen(port),), daemon=True).start()

    def listen(port: int) -> socket.socket:
        return socket.create_server(("127.0.0.1", port))

    def answer(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        listening.close()
        with connection:
            connection.recv(65536)
            connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{"id": "x"}')

    opening = Opening()
    transport.log.addHandler(opening)
    try:
        first = listen(0)
        port = first.getsockname()[1]
        threading.Thread(target=answer, args=(first,), daemon=True).start()
        with Halfbyte(f"http://127.0.0.1:{port}") as client:
            assert client.get(JOB) == {"id": "x"}
            assert client.get(JOB) == {"id": "x"}
    finally:
        transport.log.removeHandler(opening)


def test_nobody_there_is_an_error_at_once_that_names_the_address(caplog):
    with (
        Halfbyte("http://127.0.0.1:1", patience_s=60) as client,
        pytest.raises(Unreachable, match=r"no answer from http://127.0.0.1:1: nothing listens"),
    ):
        client.get(JOB)
    assert caplog.records == []  # each further try would have been told


def test_a_refusal_carries_the_document_and_its_fields(client, service):
    fields = ("k[0]", "must be a multiple of 16"), ("mode", "must be 'test'")
    service.tell("POST", JOBS, problem(422, "k[0]: must ...", *fields))
    with pytest.raises(Refused) as refused:
        client.submit_sizes()
    assert refused.value.status == 422
    assert refused.value.fields == fields
    assert refused.value.problem["type"] == "urn:halfbyte:problem:x"


@pytest.mark.parametrize("content", [b"<html>", b"[1]", b"\xff", b""])
def test_an_error_without_a_problem_document_is_still_one(client, service, content):
    service.tell("GET", ONE, Answer(502, content))
    with pytest.raises(ServiceFailed, match=r"halfbyte.s at http.*: Bad Gateway .HTTP 502"):
        client.get(JOB)


def test_an_answer_that_is_no_json_is_the_services_fault(client, service):
    service.tell("GET", ONE, Answer(200, b"<html>welcome</html>"))
    with pytest.raises(ServiceFailed, match="it is no JSON"):
        client.get(JOB)


def test_the_key_is_a_bearer_token_and_ids_are_quoted(service):
    service.tell("GET", "/v1/jobs/a%2F..%3Fb", Answer(200, finished()))
    with Halfbyte(service.url + "/", key="hb_secret") as client:
        client.get("a/..?b", wait=500)
    (request,) = service.requests
    assert request.headers["Authorization"] == "Bearer hb_secret"
    assert request.path == "/v1/jobs/a%2F..%3Fb?wait=60"


def test_a_list_passes_on_the_filters_that_are_given(client, service):
    service.tell("GET", JOBS, Answer(200, {"jobs": [], "next_cursor": None}))
    client.list(3, state="queued", owner=None)
    assert service.requests[0].path == "/v1/jobs?limit=3&state=queued"


def test_source_and_log_are_bytes(client, service):
    service.tell("GET", f"{ONE}/source", Answer(200, b"\xff\r\n"))
    service.tell("GET", f"{ONE}/log", Answer(200, b"\x1b[31m"))
    assert client.source(JOB) == b"\xff\r\n"
    assert client.log(JOB) == b"\x1b[31m"


def test_events_come_in_order_and_resume_after_the_last_one(client, service):
    service.tell("GET", EVENTS, stream(("state", {"state": "running"}), ("progress", {"case": 0})))
    events = list(client.events(JOB, after="7-0"))
    assert [(event.id, event.type) for event in events] == [("1-0", "state"), ("2-0", "progress")]
    assert events[1].data == {"case": 0}
    assert service.requests[0].headers["Last-Event-ID"] == "7-0"


def test_a_stream_that_breaks_off_is_unreachable_after_what_had_arrived(client, service):
    service.tell("GET", EVENTS, stream(("state", {"state": "running"}), cut=True))
    events = client.events(JOB)
    assert next(events).type == "state"
    with pytest.raises(Unreachable):
        next(events)


def test_a_refused_stream_is_a_refusal(client, service):
    service.tell("GET", EVENTS, problem(404, "there is no job"))
    with pytest.raises(Refused, match="there is no job"):
        next(client.events(JOB))


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://host", "http://", "http://[::1"])
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(ValueError, match="address"):
        Halfbyte(url)
