"""Callbacks: every end of a job is posted, signed, to who asked for it, and nowhere else."""

import asyncio
import json
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from contract.deliveries import MOST_OF_ONE
from contract.keys import ANONYMOUS
from contract.queue import JobQueue
from service.callbacks import AT_A_TIME
from service.settings import ServiceSettings
from tests.contract.examples import submission
from tests.redis_server import RedisServer
from tests.service.conftest import serving
from tests.service.receivers import receiving
from tests.service.test_errors import problem_in
from tests.service.workers import finish_next, timed

QUICK = ServiceSettings(
    callback_private=True, callback_attempts=3, callback_first_delay_s=0.02, callback_timeout_s=5
)


@pytest.fixture
def redis_server(servers: Callable[[str], RedisServer]) -> RedisServer:
    """Not the one of the service that other tests share: it would take what is due here."""
    return servers("redis6")


async def called_back(http, queue: JobQueue, url: str, headers=None) -> str:
    """Have a job with a callback finished, and return its id."""
    answer = await http.post("/v1/jobs", json={"callback_url": url}, headers=headers)
    assert answer.status_code == 202, answer.text
    await finish_next(queue, timed())
    return answer.json()["id"]


async def log_of(http, job_id: str, wait_until, attempts: int = 1, headers=None) -> list[dict]:
    """Return the deliveries of a job once there are as many and no more to come."""

    async def done() -> list[dict] | None:
        told = await http.get(f"/v1/jobs/{job_id}/deliveries", headers=headers)
        log = told.json()
        over = len(log["deliveries"]) >= attempts and log["next_at"] is None
        return log["deliveries"] if over else None

    return await wait_until(done, f"{attempts} attempts and no more")


async def test_a_finished_job_is_posted_as_the_service_tells_it(queue_settings, queue, wait_until):
    with receiving(204) as receiver:
        async with serving(queue_settings, QUICK) as http:
            job_id = await called_back(http, queue, receiver.url)
            (delivery,) = await log_of(http, job_id, wait_until)
            job = (await http.get(f"/v1/jobs/{job_id}")).json()
    assert (delivery["attempt"], delivery["status"], delivery["error"]) == (1, 204, None)
    ((path, headers, body),) = receiver.requests
    assert path == "/hook?x=1"
    assert json.loads(body) == job
    assert headers["Content-Type"] == "application/json"
    assert headers["Host"] == f"127.0.0.1:{receiver.port}"
    assert headers["webhook-id"] == f"msg_{job_id}"


async def test_it_is_signed_with_the_secret_of_the_jobs_owner(
    queue_settings, queue, keys, wait_until
):
    with receiving(200) as receiver:
        async with serving(queue_settings, QUICK) as http:
            await called_back(http, queue, receiver.url)
            await wait_until(lambda: receiver.requests, "the callback of nobody in particular")
        _, alice = await keys.make("alice")
        async with serving(queue_settings, QUICK) as http:
            await called_back(http, queue, receiver.url, alice)
            await wait_until(lambda: len(receiver.requests) == 2, "the callback of alice")
    secrets = [await keys.store.callback_secret(name) for name in (ANONYMOUS, "alice")]
    for (_, headers, body), right, wrong in zip(
        receiver.requests, secrets, reversed(secrets), strict=True
    ):
        Webhook(right).verify(body, headers)
        for secret, changed in ((wrong, body), (right, body.replace(b"finished", b"failed"))):
            with pytest.raises(WebhookVerificationError):
                Webhook(secret).verify(changed, headers)


async def test_cancelled_jobs_are_called_back_too(queue_settings, queue, wait_until):
    with receiving(200) as receiver:
        async with serving(queue_settings, QUICK) as http:
            asked = {"callback_url": receiver.url}
            job = (await http.post("/v1/jobs", json=asked)).json()
            await http.delete(f"/v1/jobs/{job['id']}")
            await log_of(http, job["id"], wait_until)
    assert json.loads(receiver.requests[0][2])["state"] == "cancelled"


async def test_what_fails_is_tried_again_with_the_same_id(queue_settings, queue, wait_until):
    with receiving(500, 503, 200) as receiver:
        async with serving(queue_settings, QUICK) as http:
            job_id = await called_back(http, queue, receiver.url)
            log = await log_of(http, job_id, wait_until, attempts=3)
    assert [each["status"] for each in log] == [500, 503, 200]
    assert [each["error"] for each in log] == ["answered 500", "answered 503", None]
    assert {headers["webhook-id"] for _, headers, _ in receiver.requests} == {f"msg_{job_id}"}


async def test_it_is_given_up_after_so_many_attempts_or_when_told_so(
    queue_settings, queue, wait_until
):
    for status, attempts in ((500, 3), (410, 1)):
        with receiving(status) as receiver:
            async with serving(queue_settings, QUICK) as http:
                job_id = await called_back(http, queue, receiver.url)
                log = await log_of(http, job_id, wait_until, attempts)
                assert [each["status"] for each in log] == [status] * attempts
                lines = (await http.get("/metrics")).text.splitlines()
        assert len(receiver.requests) == attempts
    assert 'halfbyte_callbacks_total{result="given_up"} 2.0' in lines
    assert 'halfbyte_callbacks_total{result="failed"} 2.0' in lines
    assert "halfbyte_callbacks_waiting 0.0" in lines


async def test_redirects_are_not_followed(queue_settings, queue, wait_until):
    with receiving(200) as other, receiving(307, headers={"Location": other.url}) as receiver:
        async with serving(queue_settings, QUICK) as http:
            job_id = await called_back(http, queue, receiver.url)
            log = await log_of(http, job_id, wait_until, attempts=3)
    assert {each["error"] for each in log} == {"answered 307; redirects are not followed"}
    assert other.requests == []


async def test_a_receiver_that_is_not_there_or_never_answers_is_an_attempt_too(
    queue_settings, queue, wait_until, unused_tcp_port
):
    settings = QUICK.model_copy(update={"callback_attempts": 1, "callback_timeout_s": 0.3})
    answers = threading.Event()
    with receiving(200, before=lambda: answers.wait(20)) as silent:
        try:
            async with serving(queue_settings, settings) as http:
                said = []
                for url in (silent.url, f"http://127.0.0.1:{unused_tcp_port}/"):
                    job_id = await called_back(http, queue, url)
                    (delivery,) = await log_of(http, job_id, wait_until)
                    assert delivery["status"] is None
                    said.append(delivery["error"])
        finally:
            answers.set()
    assert said[0] == "no answer within 0.3 s"
    assert said[1].startswith("ConnectError: ")


async def test_a_private_address_is_refused_when_the_job_is_sent(queue_settings, queue):
    async with serving(queue_settings) as http:
        for url in ("http://127.0.0.1:1/", "http://localhost/", "ftp://8.8.8.8/"):
            for answer in (
                await http.post("/v1/jobs", json={"callback_url": url}),
                await http.post(
                    "/v1/submissions",
                    content=b"def custom_kernel(data): pass",
                    params={"callback_url": url},
                ),
            ):
                assert answer.status_code == 422
                (error,) = problem_in(answer).errors
                assert error.field == "callback_url"
        assert (await http.get("/v1/jobs")).json()["jobs"] == []


async def test_a_name_that_leads_inside_by_the_time_of_delivery_is_not_called(
    queue_settings, queue, wait_until, monkeypatch
):
    """DNS rebinding: public when the job is sent, ours when it is delivered."""
    answers = ["8.8.8.8", "127.0.0.1"]

    def getaddrinfo(host, port, **_):
        address = answers.pop(0) if len(answers) > 1 else answers[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    settings = QUICK.model_copy(update={"callback_private": False, "callback_attempts": 1})
    with receiving(200) as receiver:
        async with serving(queue_settings, settings) as http:
            monkeypatch.setattr("service.callback_address.socket.getaddrinfo", getaddrinfo)
            url = f"http://hook.example:{receiver.port}/"
            job_id = await called_back(http, queue, url)
            (delivery,) = await log_of(http, job_id, wait_until)
            monkeypatch.undo()
    assert delivery["error"].startswith("hook.example leads to 127.0.0.1")
    assert receiver.requests == []


async def test_two_services_deliver_once(queue_settings, queue, wait_until):
    with receiving(200) as receiver:
        async with serving(queue_settings, QUICK) as one, serving(queue_settings, QUICK) as two:
            jobs = [await called_back(one, queue, receiver.url) for _ in range(10)]
            for job_id in jobs:
                assert len(await log_of(two, job_id, wait_until)) == 1
    ids = [headers["webhook-id"] for _, headers, _ in receiver.requests]
    assert sorted(ids) == sorted(f"msg_{job_id}" for job_id in jobs)


async def test_what_a_stopped_service_left_is_delivered_by_the_next(
    queue_settings, queue, redis, wait_until
):
    arrived, answers = threading.Event(), threading.Event()

    def stall() -> None:
        arrived.set()
        answers.wait(20)

    with receiving(200, before=stall) as receiver:
        async with serving(queue_settings, QUICK) as http:
            job_id = await called_back(http, queue, receiver.url)
            await asyncio.to_thread(arrived.wait, 20)
        answers.set()
        await redis.zadd("halfbyte:callbacks", {job_id: 0})  # as if its hold had run out
        async with serving(queue_settings, QUICK) as http:
            (delivery,) = await log_of(http, job_id, wait_until)
    assert (delivery["attempt"], len(receiver.requests)) == (2, 2)


async def test_the_log_of_deliveries_is_the_owners(queue_settings, queue, keys, wait_until):
    (_, alice), (_, bob) = await keys.make("alice"), await keys.make("bob")
    with receiving(200) as receiver:
        async with serving(queue_settings, QUICK) as http:
            job_id = await called_back(http, queue, receiver.url, alice)
            await log_of(http, job_id, wait_until, headers=alice)
            answer = await http.get(f"/v1/jobs/{job_id}/deliveries", headers=bob)
    assert answer.status_code == 404


async def test_a_job_without_a_callback_has_no_deliveries(queue_settings):
    async with serving(queue_settings) as http:
        job = (await http.post("/v1/jobs", json={})).json()
        log = (await http.get(f"/v1/jobs/{job['id']}/deliveries")).json()
    assert log == {"deliveries": [], "next_at": None}


@pytest.fixture
def certified(tmp_path: Path, monkeypatch) -> ssl.SSLContext:
    """A server's certificate for hook.test, trusted by whoever is started from here on."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-keyout", str(key), "-out", str(certificate), "-subj", "/CN=hook.test"),
            *("-addext", "subjectAltName=DNS:hook.test"),
        ],
        check=True,
        capture_output=True,
    )
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


async def test_a_certificate_is_checked_for_the_name_that_was_asked_for(
    queue_settings, queue, wait_until, monkeypatch, certified
):
    settings = QUICK.model_copy(update={"callback_attempts": 1})
    here = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0))]
    errors = []
    with receiving(200, tls=certified) as receiver:
        async with serving(queue_settings, settings) as http:
            monkeypatch.setattr(
                "service.callback_address.socket.getaddrinfo", lambda *_, **__: here
            )
            for name in ("hook.test", "other.test"):
                url = f"https://{name}:{receiver.port}/"
                job_id = await called_back(http, queue, url)
                (delivery,) = await log_of(http, job_id, wait_until)
                errors.append(delivery["error"])
            monkeypatch.undo()
    assert errors[0] is None
    assert "certificate" in errors[1]
    assert len(receiver.requests) == 1


async def test_a_receiver_that_never_answers_holds_up_its_owner_only(
    queue_settings, queue, wait_until
):
    answers = threading.Event()
    with receiving(200, before=lambda: answers.wait(60)) as slow, receiving(200) as receiver:
        async with serving(queue_settings, QUICK):
            for owner, hook in (*[("eve", slow)] * (AT_A_TIME + 1), ("ann", receiver)):
                sent = submission().model_copy(update={"callback_url": hook.url})
                await queue.cancel((await queue.submit(sent, owner)).id)
            await wait_until(lambda: receiver.requests, "ann's callback")
            assert len(slow.requests) <= MOST_OF_ONE
            answers.set()
            await wait_until(lambda: len(slow.requests) == AT_A_TIME + 1, "all of eve's")
