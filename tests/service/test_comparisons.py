"""Comparisons over HTTP: two candidates in, one job out, and refusals that name the candidate."""

import pytest

from contract.job import WorkerInfo
from contract.keys import Role
from contract.queue import JobQueue
from contract.verdict import Compared, ComparedCase, Log
from kernels.problems import PROBLEMS
from kernels.turns import Ratio
from tests.service.conftest import serving
from tests.service.workers import HONEST, finish_next, timed, worker

GPU: WorkerInfo = worker("H200")
OTHER = HONEST + b"# \xc3\xa9\r\n"
CASE = {"m": [96], "n": [128], "k": [256]}
FILES = {"a": ("old.py", HONEST), "b": ("new.py", OTHER)}
RATIO = Ratio(0.95, 0.94, 0.96, 24, "faster")


def verdict():
    found = timed()
    case = ComparedCase(index=0, b=found.cases[0], ratio=RATIO)
    compared = Compared(overall=RATIO, cases=(case,), log=Log(stdout="of b"))
    return found.model_copy(update={"score": None, "compared": compared})


async def refusal(http, **body) -> tuple[str, str]:
    answer = await http.post("/v1/comparisons", **body)
    assert answer.status_code == 422, answer.text
    assert (await http.get("/v1/jobs")).json()["jobs"] == []
    error = answer.json()["errors"][0]
    return error["field"], error["message"]


async def test_two_files_are_one_job_of_mode_compare(http, queue: JobQueue):
    answer = await http.post("/v1/comparisons", files=FILES)
    job = answer.json()
    assert answer.status_code == 202
    assert answer.headers["Location"] == f"/v1/comparisons/{job['id']}"
    assert (job["mode"], job["filename"], job["other"]["filename"]) == (
        *("compare", "old.py"),
        "new.py",
    )
    lease = await queue.claim(GPU, wait_s=10)
    assert lease is not None
    asked = lease.submission
    assert (asked.source, asked.other.source) == (HONEST, OTHER)
    assert asked.cases == PROBLEMS["nvfp4_group_gemm"].benchmarks
    await queue.finish(lease, verdict())
    found = (await http.get(answer.headers["Location"], params={"wait": 10})).json()
    assert found["verdict"]["compared"]["overall"] == {
        "ratio": 0.95,
        "low": 0.94,
        "high": 0.96,
        "rounds": 24,
        "decision": "faster",
    }
    assert found == (await http.get(f"/v1/jobs/{job['id']}")).json()
    source = f"/v1/jobs/{job['id']}/source"
    assert (await http.get(source)).content == HONEST
    assert (await http.get(source, params={"candidate": "b"})).content == OTHER


async def test_samples_of_both_are_there_for_who_asks(http, queue: JobQueue):
    path = (await http.post("/v1/comparisons", files=FILES)).headers["Location"]
    lease = await queue.claim(GPU, wait_s=10)
    await queue.finish(lease, verdict())
    for samples in ("false", "true"):
        found = (await http.get(path, params={"samples": samples})).json()["verdict"]
        timings = found["cases"][0]["timing"], found["compared"]["cases"][0]["b"]["timing"]
        assert [("samples_us" in timing) for timing in timings] == [samples == "true"] * 2


async def test_json_takes_kernels_and_files_and_cases(http, queue: JobQueue):
    body = {**CASE, "a": {"kernel": "portable"}, "b": {"source": "custom_kernel = print"}}
    answer = await http.post("/v1/comparisons", json=body)
    assert answer.status_code == 202
    assert answer.json()["kernel"] == "portable"
    asked = (await queue.claim(GPU, wait_s=10)).submission
    assert (asked.kernel, asked.other.kernel) == ("portable", None)
    assert asked.other.source == b"custom_kernel = print"
    assert asked.cases[0].m == (96,)
    source = f"/v1/jobs/{answer.json()['id']}/source"
    assert (await http.get(source)).status_code == 404


async def test_a_text_in_a_form_names_a_kernel_and_lists_are_json_there(http, queue: JobQueue):
    data = {"a": "portable", "m": "[96]", "n": "[128]", "k": "[256]"}
    answer = await http.post("/v1/comparisons", data=data, files={"b": FILES["b"]})
    assert answer.status_code == 202
    asked = (await queue.claim(GPU, wait_s=10)).submission
    assert (asked.kernel, asked.other.filename, asked.cases[0].k) == ("portable", "new.py", (256,))


async def test_the_same_key_and_files_are_the_same_comparison(http):
    headers = {"Idempotency-Key": "one"}
    first, again = [
        (await http.post("/v1/comparisons", files=FILES, headers=headers)).json()["id"]
        for _ in range(2)
    ]
    assert first == again
    swapped = {"a": FILES["b"], "b": FILES["a"]}
    answer = await http.post("/v1/comparisons", files=swapped, headers=headers)
    assert answer.status_code == 422


@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        ({"a": {}}, "b", "required"),
        ({"a": {}, "b": {}, "mode": "test"}, "mode", "unknown field"),
        ({"a": {}, "b": {"kernel": "nothing"}}, "b.kernel", "unknown kernel 'nothing'"),
        ({"a": {"filename": "a.py"}, "b": {}}, "a.filename", "only a file has a name"),
        ({"a": {"source": "x = 1"}, "b": {}}, "a.source", "custom_kernel"),
        ({"a": {}, "b": {"source": "def"}}, "b.source", "syntax"),
        ({"a": {}, "b": {"source_base64": "!"}}, "b.source_base64", "not base64"),
        ({"a": {}, "b": {"source": "x", "kernel": "auto"}}, "b.kernel", "not both"),
        ({"a": {}, "b": {}, "m": [0], "n": [1], "k": [16]}, "m", "nothing takes time"),
        ({"a": {}, "b": {}, "device": "cpu"}, "device", "never emulated"),
    ],
)
async def test_refusals_name_the_candidate(http, body, field, words):
    named, message = await refusal(http, json=body)
    assert named == field
    assert words.lower() in message.lower()


@pytest.mark.parametrize(
    ("files", "data", "field"),
    [
        ({"file": FILES["a"], "b": FILES["b"]}, {}, "file"),
        ({"a": FILES["a"]}, {}, "b"),
        ({"a": FILES["a"]}, {"a": "auto", "b": "auto"}, "a"),
    ],
)
async def test_a_form_has_the_parts_a_and_b(http, files, data, field):
    assert (await refusal(http, files=files, data=data))[0] == field


async def test_a_comparison_is_refused_where_no_worker_has_a_gpu(http, queue: JobQueue):
    await queue.heartbeat(worker("cpu"))
    field, message = await refusal(http, json={"a": {}, "b": {}})
    assert field == "mode"
    assert message == (
        "mode `compare` needs a GPU and is never emulated; no worker here has one "
        "(mode `test` needs none)"
    )


async def test_a_job_of_one_file_cannot_be_a_comparison_nor_is_looked_at_as_one(http):
    answer = await http.post("/v1/jobs", json={"mode": "compare"})
    assert answer.status_code == 422
    assert "POST /v1/comparisons" in answer.json()["errors"][0]["message"]
    job = (await http.post("/v1/jobs", json=CASE)).json()
    assert (await http.get(f"/v1/comparisons/{job['id']}")).status_code == 404
    other = await http.get(f"/v1/jobs/{job['id']}/source", params={"candidate": "b"})
    assert other.status_code == 404


async def test_it_is_a_job_like_others_for_owners_lists_and_cancel(queue_settings, keys):
    _, mine = await keys.make("mine")
    _, theirs = await keys.make("theirs")
    _, reads = await keys.make("reads", Role.READ)
    async with serving(queue_settings) as http:
        refused = await http.post("/v1/comparisons", files=FILES, headers=reads)
        assert refused.status_code == 403
        job = (await http.post("/v1/comparisons", files=FILES, headers=mine)).json()
        path = f"/v1/comparisons/{job['id']}"
        assert (await http.get(path, headers=theirs)).status_code == 404
        listed = await http.get("/v1/jobs", params={"mode": "compare"}, headers=mine)
        assert [each["other"]["filename"] for each in listed.json()["jobs"]] == ["new.py"]
        cancelled = await http.delete(f"/v1/jobs/{job['id']}", headers=mine)
        assert cancelled.json()["state"] == "cancelled"


async def test_a_picture_has_the_intervals(http, queue: JobQueue):
    job = (await http.post("/v1/comparisons", files=FILES)).json()
    picture = f"/v1/jobs/{job['id']}/intervals.svg"
    assert (await http.get(picture)).status_code == 404
    await queue.finish(await queue.claim(GPU, wait_s=10), verdict())
    drawn = await http.get(picture)
    assert drawn.headers["content-type"] == "image/svg+xml"
    assert "Case 0: B is faster" in drawn.text


async def test_a_job_has_no_intervals(http, queue: JobQueue):
    job = (await http.post("/v1/jobs", json=CASE)).json()
    assert await finish_next(queue, timed()) == job["id"]
    assert (await http.get(f"/v1/jobs/{job['id']}/intervals.svg")).status_code == 404
