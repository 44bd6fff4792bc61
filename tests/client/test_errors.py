"""What is said of an answer that is an error, and of none at all: what happened, what to do."""

import ssl

import httpx
import pytest

from client.answers import is_hopeless, unreachable
from client.api import Halfbyte
from client.errors import OURS, ClientError, Refused, ServiceFailed
from tests.client.answers import JOB, ONE, Answer, problem


def said(error: ClientError) -> str:
    return "\n".join((str(error), *getattr(error, "__notes__", ())))


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (
            problem(401, "a key is needed"),
            Refused,
            ["a key is needed (HTTP 401)", "HALFBYTE_KEY", "halfbyte admin key create NAME"],
        ),
        (problem(403, "this takes a key of role `admin`"), Refused, ["role `admin` (HTTP 403)"]),
        (
            Answer(404, {"type": f"{OURS}no-such-job", "detail": "there is no job"}),
            Refused,
            ["there is no job (HTTP 404)", "halfbyte list"],
        ),
        (problem(409, "it has ended"), Refused, ["it has ended (HTTP 409)"]),
        (
            problem(429, "jobs_waiting: 4 of 4", **{"Retry-After": "3600"}),
            Refused,
            ["4 of 4 (HTTP 429)", "It asks to be tried again in 3600 s."],
        ),
        (
            problem(503, "no jobs are accepted now", **{"Retry-After": "30"}),
            ServiceFailed,
            ["accepted now (HTTP 503)", "It asks to be tried again in 30 s."],
        ),
        (
            Answer(413, b"<html>nginx</html>"),
            Refused,
            ["no answer of halfbyte's at http://", "Entity Too Large (HTTP 413)", "Is --url right"],
        ),
        (Answer(404, {"title": "Not Found"}), Refused, ["Not Found (HTTP 404)", "Is --url right"]),
        (
            Answer(308, b"", {"Location": "https://elsewhere/"}),
            Refused,
            ["(HTTP 308)", "It leads to https://elsewhere/: is --url right?"],
        ),
        (Answer(200, b"<html>"), ServiceFailed, ["it is no JSON (HTTP 200)", "behind its proxy?"]),
    ],
    ids=[
        "401",
        "403",
        "404",
        "409",
        "429",
        "503",
        "413 of a proxy",
        "404 of another",
        "308",
        "no JSON",
    ],
)
def test_an_answer_says_what_happened_and_what_to_do(service, answer, kind, words):
    service.tell("GET", ONE, answer)
    with Halfbyte(service.url) as client, pytest.raises(kind) as error:
        client.get(JOB)
    assert [word for word in words if word not in said(error.value)] == []
    assert len(service.requests) == 1


def test_plain_http_is_no_tls_and_is_not_tried_again(service):
    url = service.url.replace("http:", "https:")
    with Halfbyte(url, patience_s=60) as client, pytest.raises(ClientError) as error:
        client.get(JOB)
    assert f"no answer from {url}: no TLS connection: " in said(error.value)
    assert "Is it http:// there, and not https://?" in said(error.value)


def test_a_certificate_that_is_not_trusted_says_how_to_trust_it():
    cause = ssl.SSLCertVerificationError(1, "certificate verify failed")
    cause.verify_message = "self-signed certificate"
    error = httpx.ConnectError("x")
    error.__cause__ = cause
    assert is_hopeless(error, met=True)
    assert said(unreachable("https://h", error)).splitlines() == [
        "no answer from https://h: its certificate is not trusted: self-signed certificate",
        "SSL_CERT_FILE=CA.pem has the client trust another authority.",
    ]


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "nothing listens there"),
        (TimeoutError(), "it took too long"),
        (None, "Server disconnected"),
    ],
)
def test_no_answer_is_told_in_words(cause, words):
    error = httpx.RemoteProtocolError("Server disconnected")
    error.__cause__ = cause
    assert not is_hopeless(error, met=False)
    told = said(unreachable("http://h", error))
    assert told.startswith(f"no answer from http://h: {words}\nStart a service here")


@pytest.mark.parametrize("given", [{"key": "hb_\u00fc"}, {"key": "a\nb"}, {"name": "\u00fc"}])
def test_a_key_that_cannot_be_sent_is_told_before_anything_is(given):
    (what,) = given
    with pytest.raises(ValueError, match=f"the {what} has characters that no {what} has"):
        Halfbyte("http://h", **given)
