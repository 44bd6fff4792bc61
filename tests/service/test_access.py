"""Who may do what: without keys everybody here everything, with keys each what its role says."""

import re

import httpx
import pytest
from pydantic import SecretStr

from contract.keys import KeyStore, Role
from contract.queue import JobQueue
from contract.sessions import Sessions
from contract.settings import QueueSettings
from service import access
from service.app import create_app
from service.settings import ServiceSettings
from tests.redis_server import SERVERS, RedisServer
from tests.service.conftest import serving
from tests.service.test_errors import problem_in
from tests.service.test_small_bodies import routes_of
from tests.service.workers import HONEST, finish_next, timed

OPEN = {"/healthz", "/readyz"}
STARTER_KEY = "0123456789abcdef" * 2


def operations(queue_settings) -> list[tuple[str, str]]:
    """Every call that there is, by its description."""
    paths = create_app(ServiceSettings(), queue_settings).openapi()["paths"]
    return [(method.upper(), path) for path, methods in paths.items() for method in methods]


def plain(path: str) -> str:
    return path.replace("{job_id}", "0" * 32).replace("{name}", "nvfp4_group_gemm")


async def test_from_the_first_key_on_every_call_needs_one(queue_settings, keys, wait_until):
    async with serving(queue_settings) as http:
        assert (await http.get("/v1/jobs")).status_code == 200
        _, right = await keys.make("alice", Role.ADMIN)

        async def closed() -> bool:
            return (await http.get("/v1/jobs")).status_code == 401

        await wait_until(closed, "the service to notice the key")
        for method, path in operations(queue_settings):
            answer = await http.request(method, plain(path))
            if path in OPEN:
                assert answer.status_code == 200
                continue
            assert answer.status_code == 401, path
            assert answer.headers["www-authenticate"].startswith("Bearer ")
            assert "Authorization: Bearer" in problem_in(answer).detail
            answer = await http.request(method, plain(path), headers=right)
            assert answer.status_code not in (401, 403), path
        for path in ("/docs", "/openapi.json"):
            assert (await http.get(path)).status_code == 200


@pytest.mark.parametrize(
    "presented",
    ["", "Bearer", "Bearer x", "Basic aGI6eA==", "bearer hb_{zeros}", "{token}"],
)
async def test_what_is_no_key_opens_nothing(queue_settings, keys, presented):
    made, _ = await keys.make("alice")
    value = presented.format(zeros="0" * 12 + "_" + "0" * 64, token=made.token)
    async with serving(queue_settings) as http:
        answer = await http.get("/v1/jobs", headers={"Authorization": value})
        assert answer.status_code == 401
        assert made.token not in answer.text


async def test_a_body_is_not_read_for_a_stranger(queue_settings, keys):
    await keys.make("alice")
    async with serving(queue_settings) as http:
        answer = await http.post("/v1/jobs", content=b"no JSON")
    assert answer.status_code == 401


async def test_a_revoked_key_opens_nothing_and_the_service_stays_closed(
    queue_settings, keys, wait_until
):
    made, headers = await keys.make("alice")
    async with serving(queue_settings) as http:
        assert (await http.get("/v1/jobs", headers=headers)).status_code == 200
        await keys.store.revoke(made.key.id)

        async def void() -> bool:
            return (await http.get("/v1/jobs", headers=headers)).status_code == 401

        await wait_until(void, "the service to notice")
        assert (await http.get("/v1/jobs")).status_code == 401
    async with serving(queue_settings) as http:
        assert (await http.get("/v1/jobs")).status_code == 401


async def test_where_strangers_are_a_key_is_needed_even_if_there_is_none(queue_settings):
    async with serving(queue_settings, public=True) as http:
        assert (await http.get("/v1/jobs")).status_code == 401
        assert (await http.get("/healthz", headers={"Host": "judge.lan"})).status_code == 200


async def test_a_service_that_had_keys_does_not_open_when_redis_lost_them(
    queue_settings, keys, redis, wait_until
):
    await keys.make("alice")
    async with serving(queue_settings) as http:
        assert (await http.get("/v1/jobs")).status_code == 401
        await redis.flushall()
        assert not await keys.store.exist()
        assert (await http.get("/v1/jobs")).status_code == 401


async def test_the_key_of_who_started_the_service_looks_and_does_nothing_else(queue_settings, keys):
    await keys.make("alice")
    settings = ServiceSettings(starter_key=SecretStr(STARTER_KEY))
    async with serving(queue_settings, settings) as http:
        right = {"Authorization": f"Bearer {STARTER_KEY}"}
        wrong = {"Authorization": f"Bearer {STARTER_KEY[:-1]}0"}
        assert (await http.get("/v1/workers", headers=right)).json() == {"workers": []}
        assert (await http.post("/v1/jobs", headers=right, json={})).status_code == 403
        assert (await http.get("/v1/workers", headers=wrong)).status_code == 401


async def test_a_reader_reads_and_does_not_submit_or_cancel(queue_settings, keys):
    _, submit = await keys.make("alice")
    _, read = await keys.make("alice", Role.READ)
    async with serving(queue_settings) as http:
        job = (await http.post("/v1/jobs", headers=submit, json={})).json()
        path = f"/v1/jobs/{job['id']}"
        assert (await http.get(path, headers=read)).json()["owner"] == "alice"
        for method, where in (("POST", "/v1/jobs"), ("POST", "/v1/submissions"), ("DELETE", path)):
            answer = await http.request(method, where, headers=read)
            assert answer.status_code == 403
            assert "takes a key of role `submit`" in problem_in(answer).detail
        assert (await http.delete(path, headers=submit)).json()["state"] == "cancelled"


async def test_jobs_are_private_to_their_owner_and_an_admin_sees_all(
    queue_settings, keys, queue: JobQueue
):
    _, alice = await keys.make("alice")
    _, bob = await keys.make("bob")
    _, root = await keys.make("root", Role.ADMIN)
    async with serving(queue_settings) as http:
        ended = (await http.post("/v1/submissions", headers=alice, content=HONEST)).json()["id"]
        await finish_next(queue, timed())
        queued = (await http.post("/v1/jobs", headers=alice, json={})).json()["id"]
        bobs = (await http.post("/v1/jobs", headers=bob, json={})).json()["id"]

        for job in (ended, queued):
            for method, path in (
                *(("GET", f"/v1/jobs/{job}{rest}") for rest in ("", "?wait=30", "/events")),
                *(("GET", f"/v1/jobs/{job}{rest}") for rest in ("/source", "/log")),
                ("DELETE", f"/v1/jobs/{job}"),
            ):
                answer = await http.request(method, path, headers=bob)
                nobodys = await http.request(method, path.replace(job, "0" * 32), headers=bob)
                assert answer.status_code == nobodys.status_code == 404
                assert answer.json()["title"] == nobodys.json()["title"]
                assert "alice" not in answer.text
        for rest in ("", "/source", "/log", "/events"):
            for headers in (alice, root):
                assert (await http.get(f"/v1/jobs/{ended}{rest}", headers=headers)).is_success

        assert await listed(http, alice) == [queued, ended]
        assert await listed(http, bob) == [bobs]
        assert await listed(http, bob, owner="alice") == []
        assert await listed(http, root) == [bobs, queued, ended]
        assert await listed(http, root, owner="bob") == [bobs]
        cancelled = await http.delete(f"/v1/jobs/{queued}", headers=root)
        assert cancelled.json()["state"] == "cancelled"


async def test_no_road_leads_to_a_job_of_somebody_else(queue_settings, keys, queue: JobQueue):
    """Whatever takes the id or the number of a job, also what is not in the description."""
    (alices, alice), (bobs, bob) = await keys.make("alice"), await keys.make("bob")
    settings = ServiceSettings(popcorn_at_root=True)
    app = create_app(settings, queue_settings)
    roads = [
        (method, f"{under}{route.path}")
        for route in routes_of(app)
        for method in sorted(route.methods, key=("GET", "PUT", "POST", "DELETE").index)
        for under in ("", "/popcorn")
        if re.search("{(job_id|number)}", route.path)
    ]
    alice |= {"X-Popcorn-Cli-Id": alices.token}
    bob |= {"X-Popcorn-Cli-Id": bobs.token}
    async with serving(queue_settings, settings) as http:
        sent = await http.post("/v1/submissions", headers=alice, content=HONEST)
        await finish_next(queue, timed())
        opened = 0
        for method, road in roads:
            path = road.replace("{job_id}", sent.json()["id"]).replace("{number}", "1")
            path = path.replace("{name}", "a.ptx")
            refused = await http.request(method, path, headers=bob)
            assert refused.status_code in (401, 403, 404, 405), (method, road)
            assert "custom_kernel" not in refused.text
            if method == "GET":
                opened += (await http.get(path, headers=alice)).is_success
        both = {"a": sent.json()["id"], "b": sent.json()["id"]}
        assert (await http.get("/compare", params=both, headers=bob)).status_code == 404
    assert opened >= 10


async def listed(http: httpx.AsyncClient, headers: dict[str, str], **filters: str) -> list[str]:
    answer = await http.get("/v1/jobs", headers=headers, params=filters)
    return [job["id"] for job in answer.json()["jobs"]]


async def test_no_more_tokens_are_remembered_than_fit(queue_settings, keys, queue, monkeypatch):
    monkeypatch.setattr(access, "MOST_BELIEVED", 2)
    door = access.Access(keys.store, Sessions(queue.store), public=True, starter_key=None)
    made, _ = await keys.make("alice")
    for _ in range(5):
        token = await Sessions(queue.store).open(made.key)
        assert (await door.caller(token)).owner == "alice"
    assert len(door._believed) <= 2


async def test_an_idempotency_key_is_its_owners_own(queue_settings, keys):
    (_, alice), (_, bob) = await keys.make("alice"), await keys.make("bob")
    async with serving(queue_settings) as http:
        jobs = [
            (await http.post("/v1/jobs", headers={**who, "Idempotency-Key": "k"}, json={})).json()
            for who in (alice, bob, alice)
        ]
    assert jobs[0]["id"] == jobs[2]["id"] != jobs[1]["id"]


async def test_keys_are_believed_while_redis_is_away(tmp_path):
    """The metrics say then that it is; nothing else can be had."""
    server = RedisServer(SERVERS["valkey9"], tmp_path).start()
    settings = QueueSettings(redis_url=server.url)
    queue = JobQueue.connect(settings)
    made = await KeyStore(queue.store).create("alice", Role.READ)
    await queue.close()
    right = {"Authorization": f"Bearer {made.token}"}
    wrong = {"Authorization": f"Bearer {made.token[:-1]}x"}
    try:
        async with serving(settings) as http:
            assert (await http.get("/metrics", headers=right)).is_success
            server.end()
            assert "halfbyte_queue_up 0.0" in (await http.get("/metrics", headers=right)).text
            assert (await http.get("/v1/jobs", headers=right)).status_code == 503
            assert (await http.get("/metrics", headers=wrong)).status_code == 401
            assert (await http.get("/metrics")).status_code == 401
    finally:
        server.end()


async def test_without_keys_who_sends_a_job_may_say_whose_it_is(http, queue):
    answer = await http.post("/v1/jobs", json={}, headers={"Halfbyte-Name": "ann.b-1"})
    assert answer.json()["owner"] == "ann.b-1"
    assert (await http.post("/v1/jobs", json={})).json()["owner"] == "anonymous"
    for wrong in ("", "=1+1", "a b", "x" * 65, "-ann"):
        answer = await http.post("/v1/jobs", json={}, headers={"Halfbyte-Name": wrong})
        (error,) = problem_in(answer).errors
        assert (answer.status_code, error.field) == (422, "Halfbyte-Name")


async def test_with_keys_a_job_belongs_to_the_name_of_the_key(queue_settings, keys):
    _, bob = await keys.make("bob")
    async with serving(queue_settings) as http:
        answer = await http.post("/v1/jobs", json={}, headers=bob | {"Halfbyte-Name": "ann"})
    assert answer.json()["owner"] == "bob"
