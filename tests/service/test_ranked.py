"""Ranked jobs: the same for everybody, on a GPU, and refused in words where there can be none."""

import pytest

from contract.problem import PROBLEMS
from tests.service.workers import HONEST, worker

CASE = {"m": [96], "n": [128], "k": [256]}
FIT = worker("H200").model_copy(update={"id": "fit", "sandbox_level": 2, "ranked": True})
LOOSE = worker("H200").model_copy(update={"id": "loose", "sandbox_level": 1})


async def refusal(http, body: dict) -> tuple[str, str]:
    answer = await http.post("/v1/jobs", json={"mode": "ranked", **body})
    assert answer.status_code == 422
    assert (await http.get("/v1/jobs")).json()["jobs"] == []
    (error,) = answer.json()["errors"]
    return error["field"], error["message"]


async def test_a_ranked_job_has_the_official_tests_and_then_the_official_benchmarks(http, queue):
    await queue.heartbeat(FIT)
    answer = await http.post("/v1/submissions?mode=ranked", content=HONEST)
    assert answer.status_code == 202
    assert answer.json()["device"] == "any"
    lease = await queue.claim(FIT, wait_s=10)
    assert lease is not None
    (problem,) = PROBLEMS.values()
    assert lease.submission.cases == problem.tests + problem.benchmarks
    assert lease.submission.device == lease.job.device == "any"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (CASE, "m"),
        ({**CASE, "seed": 1}, "m"),
        ({"seed": "ff"}, "seed"),
        ({"distribution": "full_range"}, "distribution"),
        ({"poison_padding": True}, "poison_padding"),
        ({"cases": [{**CASE, "seed": 7}]}, "cases"),
    ],
)
async def test_nobody_chooses_what_a_ranked_job_runs(http, queue, body, field):
    await queue.heartbeat(FIT)
    named, words = await refusal(http, body)
    assert named == field
    assert "the official cases under seeds that nobody knows" in words


async def test_a_ranked_job_on_a_cpu_is_refused(http):
    assert await refusal(http, {"device": "cpu"}) == (
        "device",
        "mode `ranked` needs a GPU and is never emulated",
    )


async def test_a_ranked_job_is_refused_where_no_worker_has_a_gpu(http, queue):
    await queue.heartbeat(worker("cpu"))
    named, words = await refusal(http, {})
    assert named == "mode"
    assert "no worker here has one" in words


async def test_a_ranked_job_is_refused_where_no_sandbox_is_tight_enough(http, queue):
    await queue.heartbeat(LOOSE)
    named, words = await refusal(http, {"device": "H200"})
    assert named == "mode"
    assert "the GPU workers here have level 1" in words


async def test_a_ranked_job_waits_where_nobody_is_alive_yet(http):
    assert (await http.post("/v1/jobs", json={"mode": "ranked"})).status_code == 202


async def test_a_guess_of_the_start_counts_only_workers_that_rank(http, queue):
    await queue.heartbeat(FIT)
    await queue.heartbeat(LOOSE)
    job = (await http.post("/v1/jobs", json={"mode": "ranked"})).json()
    assert job["position"] == 1
    assert await queue.claim(LOOSE, wait_s=0) is None
    assert (await queue.claim(FIT, wait_s=0)).job.id == job["id"]
