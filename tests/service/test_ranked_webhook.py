"""The webhook of the feed: registered by an admin, signed, tried again, and gone when unset."""

import json
import threading
from collections.abc import Callable

import pytest
from standardwebhooks import Webhook

from contract.keys import Role
from service.callbacks import AT_A_TIME
from service.settings import ServiceSettings
from tests.contract.ranked import RANKED, ranked
from tests.redis_server import RedisServer
from tests.service.conftest import serving
from tests.service.receivers import receiving
from tests.service.test_errors import problem_in

HOOK = "/v1/ranked/webhook"
QUICK = ServiceSettings(callback_private=True, callback_attempts=3, callback_first_delay_s=0.02)


@pytest.fixture
def redis_server(servers: Callable[[str], RedisServer]) -> RedisServer:
    """Not the one of the service that other tests share: it would take what is due here."""
    return servers("redis6")


async def test_every_entry_is_posted_and_signed_for_who_registered(
    queue_settings, queue, keys, wait_until
):
    _, root = await keys.make("root", Role.ADMIN)
    with receiving(500, 204) as receiver:
        async with serving(queue_settings, QUICK) as http:
            await ranked(queue, "ann", 3.0)
            set_ = await http.put(HOOK, json={"url": receiver.url}, headers=root)
            assert (set_.json()["url"], set_.json()["name"]) == (receiver.url, "root")
            assert (await http.get(HOOK, headers=root)).json() == set_.json()
            job = await ranked(queue, "ann", 1 / 3)
            await wait_until(lambda: len(receiver.requests) == 2, "a second attempt")
            feed = await http.get("/v1/ranked", params={"after": 1}, headers=root)
    (_, headers, body), (_, again, same) = receiver.requests
    (entry,) = feed.json()["entries"]
    assert (entry["job"], entry["geomean_us"]) == (job.id, 1 / 3)
    assert json.loads(body) == json.loads(same) == entry
    assert headers["webhook-id"] == again["webhook-id"] == "msg_ranked-2"
    secret = await keys.store.callback_secret("root")
    assert Webhook(secret).verify(body, headers) == entry


async def test_an_unset_webhook_gets_nothing(queue_settings, queue, keys):
    _, root = await keys.make("root", Role.ADMIN)
    with receiving(200) as receiver:
        async with serving(queue_settings, QUICK) as http:
            await http.put(HOOK, json={"url": receiver.url}, headers=root)
            assert (await http.delete(HOOK, headers=root)).status_code == 204
            await ranked(queue, "ann", 1.0)
            metrics = await http.get("/metrics", headers=root)
            for method in ("GET", "DELETE"):
                assert (await http.request(method, HOOK, headers=root)).status_code == 404
    assert "halfbyte_callbacks_waiting 0.0" in metrics.text.splitlines()
    assert receiver.requests == []


async def test_a_webhook_that_does_not_answer_holds_up_no_callback_of_a_job(
    queue_settings, queue, keys, wait_until
):
    """A window that moved 1 000 results made every callback wait for 38 s."""
    _, root = await keys.make("root", Role.ADMIN)
    answers = threading.Event()
    with receiving(200, before=lambda: answers.wait(60)) as hook, receiving(200) as receiver:
        async with serving(queue_settings, QUICK) as http:
            await http.put(HOOK, json={"url": hook.url}, headers=root)
            for _ in range(AT_A_TIME + 1):
                await ranked(queue, "ann", 1.0)
            await wait_until(lambda: len(hook.requests) == AT_A_TIME, "all that posts may take")
            sent = RANKED.model_copy(update={"callback_url": receiver.url})
            job = await queue.submit(sent, "ann")
            await queue.cancel(job.id)
            await wait_until(lambda: receiver.requests, "the callback")
            assert len(hook.requests) == AT_A_TIME
            answers.set()
    assert receiver.requests[0][1]["webhook-id"] == f"msg_{job.id}"


async def test_only_an_admin_registers_and_no_private_address(queue_settings, queue, keys):
    (_, root), (_, ann) = await keys.make("root", Role.ADMIN), await keys.make("ann")
    async with serving(queue_settings) as http:
        for method, body in (("GET", None), ("PUT", {"url": "https://8.8.8.8/"}), ("DELETE", None)):
            answer = await http.request(method, HOOK, json=body, headers=ann)
            assert answer.status_code == 403
        answer = await http.put(HOOK, json={"url": "http://127.0.0.1:1/"}, headers=root)
        (error,) = problem_in(answer).errors
        assert (answer.status_code, error.field) == (422, "url")
        assert (await http.get(HOOK, headers=root)).status_code == 404
