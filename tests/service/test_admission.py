"""What a request leaves open is filled in by who is alive; what cannot run yet is refused."""

import sys

import pytest

from contract.device import DEVICES, device_named
from contract.errors import InvalidSubmission
from contract.job import WorkerState
from service.admission import default_mode
from service.source_check import Refusal
from service.source_checker import grammar_of, refusal_of
from tests.service.workers import HONEST, worker

OURS = "{}.{}".format(*sys.version_info)
NEWER = f"{sys.version_info[0]}.{sys.version_info[1] + 1}"


async def mode_of(http, **fields: str) -> str:
    return (await http.post("/v1/jobs", json=fields)).json()["mode"]


async def test_a_job_is_timed_by_itself_where_a_gpu_worker_is_alive(http, queue):
    assert await mode_of(http) == "test"
    await queue.heartbeat(worker("cpu"))
    assert await mode_of(http) == "test"
    await queue.heartbeat(worker("H200"))
    assert await mode_of(http) == "benchmark"
    assert await mode_of(http, mode="test") == "test"
    assert await mode_of(http, device="cpu") == "test"
    await queue.goodbye(worker("H200").id)
    assert await mode_of(http) == "test"


def test_a_gpu_that_is_unhealthy_times_nothing():
    assert default_mode([worker("H200", state=WorkerState.UNHEALTHY)], "any") == "test"


@pytest.mark.parametrize("asked", ["h200", "H200", "Sm_90", "CPU", "Any"])
async def test_a_device_is_found_in_any_case_and_answered_in_one(http, asked):
    answer = await http.post("/v1/jobs", json={"device": asked})
    assert answer.status_code == 202
    assert answer.json()["device"] in DEVICES
    assert answer.json()["device"].lower() == asked.lower()


async def test_an_unknown_device_is_refused_with_the_known_ones(http):
    answer = await http.post("/v1/jobs", json={"device": "H20O"})
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["field"]) == (422, "device")
    assert all(device in error["message"] for device in DEVICES)


async def test_a_device_that_a_live_worker_serves_is_known(http, queue):
    await queue.heartbeat(worker("X9000"))
    assert (await http.post("/v1/jobs", json={"device": "x9000"})).json()["device"] == "X9000"
    with pytest.raises(InvalidSubmission, match="unknown device"):
        device_named("x9000")


@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        ({"problem": "matmul"}, "problem", "nvfp4_group_gemm"),
        ({"kernel": "fast"}, "kernel", "portable"),
        ({"kernel": ""}, "kernel", "portable"),
        ({"targets": ["sm_100a"]}, "targets", "compile"),
        ({"mode": "test", "targets": []}, "targets", "compile"),
        ({"mode": "compile", "targets": []}, "targets", "sm_90a, sm_100a, sm_103a, sm_120a"),
        (
            {"mode": "compile", "targets": ["sm_90a", "sm_100"]},
            "targets[1]",
            "unknown target 'sm_100'; known: sm_90a, sm_100a, sm_103a, sm_120a",
        ),
        ({"callback_url": "file:///etc/passwd"}, "callback_url", "http"),
        ({"callback_url": "http://[::1"}, "callback_url", "no address"),
        ({"callback_url": "http://127.0.0.1/"}, "callback_url", "private, local or reserved"),
        ({"callback_url": "https://"}, "callback_url", "http"),
    ],
)
async def test_what_is_unknown_or_not_served_is_refused(http, body, field, words):
    answer = await http.post("/v1/jobs", json=body)
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["field"]) == (422, field)
    assert words in error["message"]
    assert (await http.get("/v1/jobs")).json()["jobs"] == []


async def test_the_limits_of_a_job_travel_with_it(http, queue):
    await http.post("/v1/jobs", json={})
    lease = await queue.claim(worker(), wait_s=10)
    shown = (await http.get("/v1/problems/nvfp4_group_gemm")).json()["limits"]
    assert lease.submission.limits.model_dump() == shown


def test_the_grammar_is_that_of_the_newest_worker_which_may_get_the_job():
    old, own, newer = worker("cpu", "3.9"), worker("H200", OURS), worker("B200", NEWER)
    ours = tuple(map(int, OURS.split(".")))
    assert grammar_of([old], "any") == (3, 9)
    assert grammar_of([old, own], "any") == ours
    assert grammar_of([old, own], "cpu") == (3, 9)
    assert grammar_of([old, own, newer], "any") is None
    assert grammar_of([old, own, newer], "H200") == ours
    assert grammar_of([newer], "H200") is None
    assert grammar_of([], "any") == ours


async def test_a_syntax_error_is_left_to_a_worker_with_a_newer_grammar(http, queue):
    broken = b"def custom_kernel(data):\n    return f'{data['a']}' if else\n"
    assert (await http.post("/v1/submissions", content=broken)).status_code == 422
    await queue.heartbeat(worker("cpu", NEWER))
    assert (await http.post("/v1/submissions", content=broken)).status_code == 202


async def test_a_file_that_takes_too_long_to_look_at_is_left_to_the_worker():
    assert await refusal_of(b"", (3, 11), limit_s=0) is None


async def test_a_check_that_dies_refuses_the_file(monkeypatch, tmp_path):
    dying = tmp_path / "check.py"
    dying.write_text("import os\nos.abort()\n")
    monkeypatch.setattr("service.source_checker.CHECKER", dying)
    refusal = await refusal_of(HONEST, (3, 11), limit_s=30)
    assert isinstance(refusal, Refusal)
    assert "cannot cope" in refusal.message
