"""The service does what its description says: schemathesis draws requests and holds it to that."""

import socket

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import checks
from schemathesis.config import SchemathesisConfig
from schemathesis.openapi.checks import JsonSchemaError

from contract.job import Fault, Progress
from contract.settings import QueueSettings
from service.app import create_app
from service.settings import ServiceSettings
from tests.service.workers import HONEST, finish_next, timed, worker, wrong_everywhere

schema = schemathesis.openapi.from_dict(
    create_app(ServiceSettings(), QueueSettings()).openapi(),
    config=SchemathesisConfig.from_dict({"generation": {"mode": "all"}}),
)
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.unsupported_method,
    checks.negative_data_rejection,
]
SIZES = {"m": [16], "n": [16], "k": [16]}


@pytest.fixture
def url(listener: socket.socket, redis_server: object) -> str:
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


@schema.parametrize()
@settings(
    max_examples=20,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_the_service_answers_as_described(case: schemathesis.Case, url: str):
    case.call_and_validate(base_url=url, checks=CHECKS)


async def jobs_in_every_state(http, queue) -> list[str]:
    """Make a job of each kind that a client can meet, and return their ids."""
    ids = []
    for verdict in (timed(), wrong_everywhere()):
        ids.append((await http.post("/v1/submissions", content=HONEST)).json()["id"])
        await finish_next(queue, verdict)
    for _ in range(4):
        ids.append((await http.post("/v1/jobs", json=SIZES)).json()["id"])
    for _ in range(2):  # attempts
        lease = await queue.claim(worker(), wait_s=10)
        await queue.release(lease, Fault(reason="judge_failed", message="the judge died"))
    lease = await queue.claim(worker(), wait_s=10)
    await queue.progress(lease, Progress(stage="testing", case=0, cases=1))
    await http.delete(f"/v1/jobs/{ids[-1]}")
    listed = (await http.get("/v1/jobs")).json()["jobs"]
    assert {job["state"] for job in listed} == {
        *("queued", "running", "finished", "failed", "cancelled")
    }
    return ids


async def test_jobs_in_every_state_look_as_described(http, queue):
    await queue.heartbeat(worker("H200"))
    ids = await jobs_in_every_state(http, queue)
    for path in ("", "?samples=true", "/source", "/log"):
        for job_id in ids:
            answer = await http.get(f"/v1/jobs/{job_id}{path}")
            described("/v1/jobs/{job_id}" + path.partition("?")[0], "GET", answer)
    for path in ("/v1/jobs", "/v1/workers", "/readyz", "/metrics"):
        described(path, "GET", await http.get(path))
    for job_id in ids:
        described("/v1/jobs/{job_id}", "DELETE", await http.delete(f"/v1/jobs/{job_id}"))
        events = await http.get(f"/v1/jobs/{job_id}/events")
        described("/v1/jobs/{job_id}/events", "GET", events)


def described(path: str, method: str, answer: httpx.Response) -> None:
    """Hold an answer to the description."""
    operation = schema[path][method]
    assert str(answer.status_code) in operation.definition.raw["responses"]
    operation.validate_response(answer)


async def test_an_answer_that_is_not_as_described_is_noticed(http):
    answer = await http.get("/healthz")
    with pytest.raises(JsonSchemaError):
        described("/v1/workers", "GET", answer)
