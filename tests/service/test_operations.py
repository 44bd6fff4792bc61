"""What operators see and steer: the queue, workers, figures."""

from pathlib import Path

import pytest

from contract.job import WorkerState
from contract.keys import Role
from contract.operations import Figures
from contract.settings import QueueSettings
from service.app import create_app
from service.metrics import Metrics
from service.settings import ServiceSettings
from tests.service.conftest import serving
from tests.service.workers import finish_next, timed, worker, wrong_everywhere


async def test_the_queue_is_told_by_device_and_mode(http, queue):
    for device, mode in (("cpu", "test"), ("cpu", "test"), ("H200", "benchmark")):
        await http.post("/v1/jobs", json={"device": device, "mode": mode})
    await queue.heartbeat(worker("H200"))
    await queue.claim(worker("H200"), wait_s=10)
    told = (await http.get("/v1/queue")).json()
    assert (told["waiting"], told["running"], told["workers"]) == (2, 1, 1)
    (line,) = told["lines"]
    assert (line["device"], line["mode"], line["waiting"]) == ("cpu", "test", 2)
    assert line["oldest_s"] >= 0


async def lines_of_metrics(http) -> list[str]:
    answer = await http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return answer.text.splitlines()


async def test_metrics_tell_queue_workers_and_requests(http, queue):
    await http.post("/v1/jobs", json={"device": "cpu"})
    await queue.heartbeat(worker("H200", state=WorkerState.DRAINING))
    await http.get("/v1/jobs/nobody")
    await http.get("/no/such/path")
    lines = await lines_of_metrics(http)
    for line in (
        'halfbyte_jobs_queued{device="cpu",mode="test"} 1.0',
        'halfbyte_workers{device="H200",state="draining"} 1.0',
        'halfbyte_workers{device="H200",state="idle"} 0.0',
        "halfbyte_queue_up 1.0",
        "halfbyte_jobs_running 0.0",
        "halfbyte_jobs_submitted_total 1.0",
        'halfbyte_verdicts_total{outcome="passed"} 0.0',
    ):
        assert line in lines
    for start in (
        'halfbyte_oldest_queued_seconds{device="cpu",mode="test"}',
        'halfbyte_worker_heartbeat_age_seconds{device="H200",worker="H200-3.11"}',
        'halfbyte_jobs_accepted_total{device="cpu",mode="test"}',
        'halfbyte_http_requests_total{method="GET",route="/v1/jobs/{job_id}",status="404"}',
        'halfbyte_http_requests_total{method="GET",route="none",status="404"}',
        'halfbyte_http_request_duration_seconds_count{method="POST",route="/v1/jobs"}',
    ):
        assert any(line.startswith(start) for line in lines), start


async def test_counters_outlive_the_process_that_shows_them(queue_settings: QueueSettings, queue):
    async with serving(queue_settings) as http:
        for verdict in (timed(), timed(), wrong_everywhere()):
            await http.post("/v1/jobs", json={})
            await finish_next(queue, verdict)
    async with serving(queue_settings) as http:
        lines = await lines_of_metrics(http)
    for line in (
        'halfbyte_verdicts_total{outcome="passed"} 2.0',
        'halfbyte_verdicts_total{outcome="incorrect"} 1.0',
        'halfbyte_jobs_ended_total{state="finished"} 3.0',
        'halfbyte_jobs_ended_total{state="failed"} 0.0',
        "halfbyte_attempts_total 3.0",
        'halfbyte_stage_duration_seconds_bucket{le="+Inf",mode="test",stage="running"} 3.0',
        'halfbyte_stage_duration_seconds_bucket{le="3600.0",mode="test",stage="queued"} 3.0',
        'halfbyte_stage_duration_seconds_count{mode="test",stage="queued"} 3.0',
    ):
        assert line in lines


def test_every_metric_is_in_the_operating_guide():
    metrics = Metrics()
    metrics.queue_seen(Figures([], [], 0, 0, 0, {}, {}))
    names = {
        line.split()[2] for line in metrics.exposition().decode().splitlines() if "# TYPE" in line
    }
    guide = (Path(__file__).parents[2] / "docs" / "operating.md").read_text()
    assert [name for name in sorted(names) if f"`{name}`" not in guide] == []


async def test_an_admin_drains_a_worker_which_hears_of_it(queue_settings, queue, keys):
    _, root = await keys.make("root", Role.ADMIN)
    _, alice = await keys.make("alice")
    await queue.heartbeat(worker("H200"))
    drain = "/v1/workers/H200-3.11/drain"
    async with serving(queue_settings) as http:
        assert (await http.post(drain, headers=alice)).status_code == 403
        assert await queue.heartbeat(worker("H200")) is False
        answer = await http.post(drain, headers=root)
        assert (answer.status_code, answer.json()["id"]) == (202, "H200-3.11")
        assert await queue.heartbeat(worker("H200")) is True
        missing = await http.post("/v1/workers/nobody/drain", headers=root)
        assert missing.status_code == 404
        assert "no live worker nobody" in missing.json()["detail"]


@pytest.mark.parametrize("path", ["/v1/queue", "/v1/workers", "/metrics"])
def test_figures_take_a_key_that_reads(path, queue_settings):
    operation = create_app(ServiceSettings(), queue_settings).openapi()["paths"][path]["get"]
    assert {"HTTPBearer": []} in operation["security"]


async def test_a_queued_job_is_told_about_when_it_will_start(http, queue):
    async def guess(job: dict) -> float | None:
        return (await http.get(f"/v1/jobs/{job['id']}")).json()["estimated_start_s"]

    async def sent() -> dict:
        return (await http.post("/v1/jobs", json={"device": "cpu", "mode": "test"})).json()

    first = await sent()
    assert await guess(first) is None  # nobody has run yet
    await queue.heartbeat(worker(state=WorkerState.BUSY))
    await finish_next(queue, timed())
    assert await guess(first) is None  # not queued any more
    second, third = await sent(), await sent()
    sooner, later = await guess(second), await guess(third)
    assert 0 <= sooner <= later
    await queue.heartbeat(worker(state=WorkerState.IDLE))
    assert await guess(second) == 0


async def test_a_job_that_no_live_worker_takes_says_so_from_the_first_answer_on(http, queue):
    await queue.heartbeat(worker())
    served = (await http.post("/v1/jobs", json={"device": "cpu", "mode": "test"})).json()
    lonely = (await http.post("/v1/jobs", json={"device": "H200", "mode": "test"})).json()
    assert served["hint"] is None
    assert lonely["hint"] == (
        "no live worker takes jobs of mode test for device H200; live ones take them for any, cpu"
    )
    assert (await http.get(lonely["links"]["self"])).json()["hint"] == lonely["hint"]
    await queue.heartbeat(worker("H200"))
    assert (await http.get(lonely["links"]["self"])).json()["hint"] is None


async def test_a_benchmark_that_will_have_no_times_says_so(http, queue):
    await queue.heartbeat(worker())
    path = (await http.post("/v1/jobs", json={"mode": "benchmark"})).headers["location"]
    assert "mode `test` has small ones" in (await http.get(path)).json()["hint"]
    await queue.heartbeat(worker("H200"))
    assert (await http.get(path)).json()["hint"] is None


async def test_made_up_methods_make_no_figures_of_their_own(http):
    for method in ("BREW", "WHEN"):
        assert (await http.request(method, "/v1/jobs")).status_code == 405
    figures = (await http.get("/metrics")).text
    assert 'method="other"' in figures
    assert "BREW" not in figures
