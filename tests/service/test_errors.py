"""Every error is a problem document, whoever makes it."""

import asyncio
import signal

import httpx
import pytest

from contract.settings import QueueSettings
from service.app import create_app
from service.problem_document import ProblemDocument
from service.settings import ServiceSettings
from tests.redis_server import SERVERS, RedisServer
from tests.service.conftest import serving
from tests.service.workers import finish_next, timed

SIZES = {"m": [16], "n": [16], "k": [16]}


def problem_in(answer) -> ProblemDocument:
    assert answer.headers["content-type"] == "application/problem+json"
    document = ProblemDocument.model_validate_json(answer.content)
    assert document.status == answer.status_code
    assert document.type.startswith("urn:halfbyte:problem:")
    assert document.title
    assert document.detail
    return document


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/v1/nothing", 404),
        ("GET", "/v1/jobs/", 404),
        ("GET", "/v1/problems/matmul", 404),
        ("PUT", "/v1/jobs", 405),
        ("POST", "/healthz", 405),
        ("DELETE", "/v1/workers", 405),
        ("GET", "/v1/jobs?limit=many", 422),
        ("POST", "/v1/jobs", 400),
    ],
)
async def test_an_error_is_a_problem_document(http, method, path, status):
    answer = await http.request(method, path)
    assert answer.status_code == status
    problem_in(answer)
    assert ("allow" in answer.headers) == (status == 405)


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"m": {"a": 1}}, "m: must be a valid array"),
        ({"mode": 7}, "mode: must be"),
        ({"m": [16], "n": [16], "k": [3]}, "k[0] must be a positive multiple of 16"),
        ({"cases": [3]}, "cases[0]: must be an object"),
    ],
)
async def test_the_detail_names_the_field(http, body, detail):
    answer = await http.post("/v1/jobs", json=body)
    assert problem_in(answer).detail.startswith(detail)


async def test_a_file_that_is_sent_where_json_belongs_is_told_where_to_go(http):
    answer = await http.post("/v1/jobs", content=b"# a kernel\nimport torch\n")
    assert answer.status_code == 400
    assert "POST /v1/submissions: curl -F file=@kernel.py" in problem_in(answer).detail


async def test_a_full_queue_says_how_full_and_when_to_come_again(queue_settings):
    few = queue_settings.model_copy(update={"max_queued": 2})
    async with serving(few) as http:
        for _ in range(2):
            assert (await http.post("/v1/jobs", json=SIZES)).status_code == 202
        answer = await http.post("/v1/jobs", json=SIZES)
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) > 0
        document = answer.json()
        assert (document["queue_length"], document["limit"]) == (2, 2)
        assert len((await http.get("/v1/jobs")).json()["jobs"]) == 2


async def listen_to(http, job_id: str, listening: asyncio.Event) -> list[str]:
    """Return the lines of an event stream; say when the first has come."""
    lines = []
    async with http.stream("GET", f"/v1/jobs/{job_id}/events") as answer:
        async for line in answer.aiter_lines():
            lines.append(line)
            listening.set()
    return lines


async def test_while_redis_is_away_everything_says_so_and_afterwards_goes_on(tmp_path, wait_until):
    redis = RedisServer(SERVERS["valkey9"], tmp_path, durable=True).start()
    settings = QueueSettings(redis_url=redis.url, beat_s=0.1)
    async with serving(settings) as http:
        job_id = (await http.post("/v1/jobs", json=SIZES)).json()["id"]
        events = asyncio.create_task(listen_to(http, job_id, listening := asyncio.Event()))
        await listening.wait()
        redis.end(signal.SIGKILL)
        for method, path in [
            ("POST", "/v1/jobs"),
            ("GET", "/v1/jobs"),
            ("GET", f"/v1/jobs/{job_id}"),
            ("GET", f"/v1/jobs/{job_id}?wait=1"),
            ("GET", f"/v1/jobs/{job_id}/events"),
            ("DELETE", f"/v1/jobs/{job_id}"),
            ("GET", "/v1/workers"),
            ("GET", "/readyz"),
        ]:
            answer = await http.request(method, path, json=SIZES if method == "POST" else None)
            assert answer.status_code == 503
            assert int(answer.headers["retry-after"]) > 0
            assert "the queue does not answer" in problem_in(answer).detail
        assert (await http.get("/healthz")).json() == {"status": "ok"}
        assert "halfbyte_queue_up 0.0" in (await http.get("/metrics")).text
        redis.start()

        async def ready() -> bool:
            return (await http.get("/readyz")).status_code == 200

        await wait_until(ready, "the service to find Redis again")
        assert (await http.get(f"/v1/jobs/{job_id}")).json()["state"] == "queued"
        assert (await http.delete(f"/v1/jobs/{job_id}")).json()["state"] == "cancelled"
        assert 'data: {"state": "cancelled"}' in await events
    redis.end()


async def test_a_fault_of_ours_is_told_without_its_inside(monkeypatch):
    app = create_app(ServiceSettings(), QueueSettings(redis_url="redis://127.0.0.1:1"))

    def broken(*_: object) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr("service.routes_about.problem_view", broken)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        answer = await http.get("/v1/problems")
    assert answer.status_code == 500
    assert problem_in(answer).title == "The service failed"
    assert "secret" not in answer.text


async def test_the_reaper_gives_up_on_a_job_that_nobody_finishes(queue_settings, wait_until):
    # Keys of its own: the service of all other tests reaps too, and grants 15 s of lease.
    own = {"prefix": "hasty", "no_worker_s": 0.05, "beat_s": 0.02, "lease_s": 0.1}
    hasty = queue_settings.model_copy(update=own)
    async with serving(hasty) as http:
        job_id = (await http.post("/v1/jobs", json=SIZES)).json()["id"]

        async def failed() -> object:
            return (await http.get(f"/v1/jobs/{job_id}")).json()["error"]

        error = await wait_until(failed, "the reaper")
        assert error["reason"] == "no_worker"
        assert error["message"]


async def test_an_answer_of_a_finished_job_is_no_error(http, queue):
    await http.post("/v1/jobs", json=SIZES)
    job_id = await finish_next(queue, timed())
    assert (await http.get(f"/v1/jobs/{job_id}")).json()["error"] is None
