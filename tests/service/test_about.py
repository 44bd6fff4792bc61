"""What the service tells about itself."""

import re

from contract.problem import PROBLEMS
from tests.service.workers import unfit, worker


async def test_workers_are_listed_as_they_describe_themselves(http, queue):
    assert (await http.get("/v1/workers")).json() == {"workers": []}
    await queue.heartbeat(worker("H200"))
    (shown,) = (await http.get("/v1/workers")).json()["workers"]
    names = "id", "pid", "host", "device", "gpu", "job", "state", "heartbeat_at", "sandbox_level"
    assert set(names) <= set(shown)
    assert (shown["device"], shown["state"], shown["job"]) == ("H200", "idle", None)
    assert shown["heartbeat_at"].endswith("Z")


async def test_problems_are_told_with_their_cases_and_limits(http):
    problems = (await http.get("/v1/problems")).json()["problems"]
    assert [each["name"] for each in problems] == list(PROBLEMS)
    for each in problems:
        assert each == (await http.get(f"/v1/problems/{each['name']}")).json()
        assert len(each["tests"]) == 10
        assert each["kernels"][0] == "auto"
        assert "modules" not in each
    listed = problems[0]
    assert listed == (await http.get("/v1/problems/nvfp4_group_gemm")).json()
    assert listed["name"] == "nvfp4_group_gemm"
    assert (len(listed["tests"]), len(listed["benchmarks"])) == (10, 4)
    assert listed["tests"][0]["m"] == [96, 128]
    assert {"test", "benchmark", "compile"} <= set(listed["modes"])
    assert listed["request_limits"]["source_bytes"] == 1_000_000
    assert listed["limits"]["job_s"] == 300


async def test_readiness_tells_who_works_and_what_waits(http, queue):
    await http.post("/v1/jobs", json={})
    await queue.heartbeat(worker())
    answer = await http.get("/readyz")
    assert answer.json() == {"status": "ready", "workers": 1, "queued": 1}


async def test_a_worker_that_could_not_start_is_seen_everywhere_with_its_reason(http, queue):
    await queue.heartbeat(unfit("GPU-1 is in use by <beta>"))
    (shown,) = (await http.get("/v1/workers")).json()["workers"]
    assert (shown["state"], shown["reason"]) == ("unhealthy", "GPU-1 is in use by <beta>")
    assert (shown["gpu"], shown["device"], shown["sandbox_level"]) == ("GPU-1", "unknown", None)
    metrics = (await http.get("/metrics")).text.splitlines()
    assert 'halfbyte_workers{device="unknown",state="unhealthy"} 1.0' in metrics
    page = (await http.get("/", headers={"accept": "text/html"})).text
    assert "unfit: GPU-1 is in use by &lt;beta&gt;" in page
    assert (await http.get("/readyz")).json()["workers"] == 0
    assert (await http.get("/v1/queue")).json()["workers"] == 0


async def test_a_reason_shows_what_has_no_shape_of_its_own(http, queue):
    """A reason quotes drivers, tools and settings, whose bytes may be anything."""
    await queue.heartbeat(unfit("bwrap: \x1b[31m\u202egnp.exe\x00<b>"))
    page = (await http.get("/", headers={"accept": "text/html"})).text
    assert "unfit: bwrap: \\x1b[31m\\u202egnp.exe\\x00&lt;b&gt;" in page


async def test_a_worker_that_is_gone_leaves_the_metrics(http, queue):
    await queue.heartbeat(worker("H200"))
    assert 'device="H200"' in (await http.get("/metrics")).text
    await queue.goodbye(worker("H200").id)
    workers = [
        line
        for line in (await http.get("/metrics")).text.splitlines()
        if line.startswith("halfbyte_workers{")
    ]
    assert workers == []


async def test_the_documentation_is_served(http):
    page = (await http.get("/docs")).text
    loaded = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert len(loaded) >= 2
    for path in loaded:
        assert path.startswith("/"), "this is from elsewhere"
        assert (await http.get(path)).status_code == 200
    assert "https:" not in page
    described = (await http.get("/openapi.json")).json()
    assert described["info"]["title"] == "halfbyte"
