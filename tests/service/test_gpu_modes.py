"""Modes that need a GPU: refused in words where there can be none, and ranked the same for all."""

import pytest

from contract.keys import Role
from contract.problem import PROBLEMS
from contract.profile import Profile, ProfiledKernel
from tests.service.conftest import serving
from tests.service.workers import HONEST, timed, unfit, worker

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
    problem = PROBLEMS["nvfp4_group_gemm"]
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


async def test_a_worker_that_could_not_start_counts_as_none(http, queue):
    await queue.heartbeat(unfit())
    waiting = await http.post("/v1/jobs", json={"mode": "ranked"})  # it may come up yet
    assert waiting.status_code == 202
    assert "no live worker takes jobs of mode ranked" in waiting.json()["hint"]
    await queue.heartbeat(worker("cpu"))
    refused = await http.post("/v1/jobs", json={"mode": "ranked"})
    assert refused.status_code == 422
    assert (await http.post("/v1/jobs", json={})).json()["mode"] == "test"


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


async def test_a_profile_needs_a_gpu_and_no_more(http, queue):
    asked = {"mode": "profile", **CASE}
    refused = await http.post("/v1/jobs", json={**asked, "device": "cpu"})
    assert refused.json()["errors"][0]["field"] == "device"
    await queue.heartbeat(worker("cpu"))
    refused = await http.post("/v1/jobs", json=asked)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "mode")
    await queue.heartbeat(LOOSE)
    assert (await http.post("/v1/jobs", json=asked)).status_code == 202
    assert (await queue.claim(LOOSE, wait_s=10)).submission.mode == "profile"


async def test_the_text_of_a_profile_is_where_the_verdict_says(http, queue):
    await queue.heartbeat(LOOSE)
    job = (await http.post("/v1/jobs", json={"mode": "profile", **CASE})).json()
    kernel = ProfiledKernel(case=0, name="gemm", duration_us=81.5, tensor_pipe=0.4)
    profile = Profile(tool="ncu", kernels=(kernel,), links={"text": "profile.txt"})
    verdict = timed().model_copy(update={"score": None, "profile": profile})
    lease = await queue.claim(LOOSE, wait_s=10)
    await queue.finish(lease, verdict, {"profile.txt": b"gemm: 81.5 us\n"})
    shown = (await http.get(f"/v1/jobs/{job['id']}")).json()["verdict"]["profile"]
    assert shown["kernels"][0]["duration_us"] == 81.5
    assert shown["links"] == {"text": f"/v1/jobs/{job['id']}/artifacts/profile.txt"}
    assert (await http.get(shown["links"]["text"])).text == "gemm: 81.5 us\n"


async def test_the_report_file_of_a_profile_is_saved_and_never_shown(http, queue):
    """It is what a process of a stranger wrote."""
    await queue.heartbeat(LOOSE)
    job = (await http.post("/v1/jobs", json={"mode": "profile", **CASE})).json()
    name, written = "profile.ncu-rep", b"<script>alert(1)</script>" + bytes(range(256))
    profile = Profile(tool="ncu", links={"report": name})
    verdict = timed().model_copy(update={"score": None, "profile": profile})
    await queue.finish(await queue.claim(LOOSE, wait_s=10), verdict, {name: written})
    shown = (await http.get(f"/v1/jobs/{job['id']}")).json()["verdict"]["profile"]
    assert shown["links"] == {"report": f"/v1/jobs/{job['id']}/artifacts/{name}"}
    answer = await http.get(shown["links"]["report"])
    assert answer.content == written
    told = ("content-type", "content-disposition", "x-content-type-options")
    assert [answer.headers[each] for each in told] == [
        "application/octet-stream",
        f'attachment; filename="{name}"',
        "nosniff",
    ]
    assert (
        "Its report file, for Nsight Compute"
        in (await http.get(f"/jobs/{job['id']}", headers={"accept": "text/html"})).text
    )


async def test_the_report_file_of_others_is_not_there(queue_settings, queue, keys):
    (_, root), (_, ann) = await keys.make("root", Role.ADMIN), await keys.make("ann")
    _, bob = await keys.make("bob")
    await queue.heartbeat(LOOSE)
    async with serving(queue_settings) as http:
        asked = {"mode": "profile", **CASE}
        job = (await http.post("/v1/jobs", json=asked, headers=ann)).json()
        profile = Profile(tool="ncu", links={"report": "profile.ncu-rep"})
        verdict = timed().model_copy(update={"score": None, "profile": profile})
        lease = await queue.claim(LOOSE, wait_s=10)
        await queue.finish(lease, verdict, {"profile.ncu-rep": b"bytes"})
        path = f"/v1/jobs/{job['id']}/artifacts/profile.ncu-rep"
        found = [(await http.get(path, headers=who)).status_code for who in (ann, root, bob, {})]
    assert found == [200, 200, 404, 401]


async def test_a_ranked_job_waits_where_nobody_is_alive_yet(http):
    assert (await http.post("/v1/jobs", json={"mode": "ranked"})).status_code == 202


async def test_a_guess_of_the_start_counts_only_workers_that_rank(http, queue):
    await queue.heartbeat(FIT)
    await queue.heartbeat(LOOSE)
    job = (await http.post("/v1/jobs", json={"mode": "ranked"})).json()
    assert job["position"] == 1
    assert await queue.claim(LOOSE, wait_s=0) is None
    assert (await queue.claim(FIT, wait_s=0)).job.id == job["id"]
