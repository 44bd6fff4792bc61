"""A job over HTTP: accepted, looked at, listed, cancelled, read."""

import asyncio
import hashlib
import json
import re
from datetime import UTC, datetime

import pytest

from contract.job import Fault, Job, JobState
from contract.submission import Mode
from service.views import job_response
from tests.service.workers import HONEST, finish_next, timed, worker, wrong_everywhere

SIZES = {"m": [96, 0], "n": [128, 256], "k": [256, 512]}
VIEW = [
    *("id", "number", "state", "mode", "problem", "kernel", "filename", "sha256", "device"),
    *("owner", "attempts", "position", "created_at", "started_at", "finished_at", "worker"),
    *("progress", "verdict", "error", "links"),
]
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


async def test_a_job_is_accepted_with_its_location_and_a_whole_view(http):
    answer = await http.post("/v1/jobs", json=SIZES)
    job = answer.json()
    assert answer.status_code == 202
    assert answer.headers["location"] == job["links"]["self"] == f"/v1/jobs/{job['id']}"
    assert list(job) == [*VIEW, "estimated_start_s", "hint"]
    assert (job["state"], job["position"], job["owner"]) == ("queued", 1, "anonymous")
    assert (job["mode"], job["kernel"], job["device"]) == ("test", "auto", "any")
    assert isinstance(job["number"], int)
    assert TIME.fullmatch(job["created_at"])
    assert job["links"] == {
        "self": f"/v1/jobs/{job['id']}",
        "events": f"/v1/jobs/{job['id']}/events",
        "source": None,
        "log": f"/v1/jobs/{job['id']}/log",
    }
    assert (await http.get(answer.headers["location"])).json() == job


async def test_what_a_worker_gets_is_what_was_asked_for(http, queue):
    seed = 0x0123456789ABCDEF0123456789ABCDEF
    first = {**SIZES, "seed": f"{seed:x}", "distribution": "full_range", "poison_padding": True}
    await http.post("/v1/jobs", json={"cases": [first, {**SIZES, "seed": seed}]})
    lease = await queue.claim(worker(), wait_s=10)
    one, two = lease.submission.cases
    assert (one.m, one.n, one.k) == ((96, 0), (128, 256), (256, 512))
    assert one.seed == two.seed == seed
    assert (one.distribution, one.poison_padding) == ("full_range", True)
    assert (two.distribution, two.poison_padding) == ("official", False)


async def test_without_cases_the_official_ones_run(http, queue):
    await http.post("/v1/jobs", json={"kernel": "portable", "mode": "benchmark"})
    lease = await queue.claim(worker(), wait_s=10)
    assert len(lease.submission.cases) == 4
    assert lease.submission.kernel == "portable"


async def test_a_wait_ends_with_the_job(http, queue):
    job = (await http.post("/v1/jobs", json=SIZES)).json()
    waiting = asyncio.create_task(http.get(f"/v1/jobs/{job['id']}", params={"wait": 60}))
    await finish_next(queue, timed())
    ended = (await waiting).json()
    assert ended["state"] == "finished"
    assert ended["verdict"]["outcome"] == "passed"
    assert ended["verdict"]["score"] == {"geomean_us": 12.5}
    assert TIME.fullmatch(ended["started_at"])
    assert TIME.fullmatch(ended["finished_at"])


async def test_a_wait_that_is_in_vain_shows_the_job_as_it_is(http):
    job = (await http.post("/v1/jobs", json=SIZES)).json()
    answer = await http.get(f"/v1/jobs/{job['id']}", params={"wait": 0.05})
    assert answer.status_code == 200
    assert answer.json()["state"] == "queued"


@pytest.mark.parametrize("wait", ["-1", "60.5", "nan", "inf", "soon"])
async def test_a_wait_is_a_number_from_0_to_60(http, wait):
    job = (await http.post("/v1/jobs", json=SIZES)).json()
    answer = await http.get(f"/v1/jobs/{job['id']}", params={"wait": wait})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "wait"


async def test_raw_samples_are_shown_only_where_they_are_asked_for(http, queue):
    job = (await http.post("/v1/jobs", json=SIZES)).json()
    await finish_next(queue, timed())
    path = f"/v1/jobs/{job['id']}"
    shown = (await http.get(path)).json()["verdict"]["cases"][0]["timing"]
    assert "samples_us" not in shown
    assert shown["median_us"] == 12.5
    shown = (await http.get(path, params={"samples": "true"})).json()
    assert shown["verdict"]["cases"][0]["timing"]["samples_us"] == [11.0, 12.5, 13.0]


async def test_the_source_comes_back_byte_for_byte_and_never_runs_in_a_browser(http):
    source = b"\xef\xbb\xbf# \xe2\x98\x83 % \\ ' \"\r\n" + HONEST
    job = (await http.post("/v1/submissions?filename=k.py", content=source)).json()
    assert job["sha256"] == hashlib.sha256(source).hexdigest()
    answer = await http.get(job["links"]["source"])
    assert answer.content == source
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == 'attachment; filename="k.py"'
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_a_built_in_kernel_has_no_source(http):
    job = (await http.post("/v1/jobs", json=SIZES)).json()
    answer = await http.get(f"/v1/jobs/{job['id']}/source")
    assert answer.status_code == 404
    assert "built-in kernel `auto`" in answer.json()["detail"]


async def test_the_log_is_plain_text_of_both_streams(http, queue):
    job = (await http.post("/v1/jobs", json=SIZES)).json()
    early = await http.get(job["links"]["log"])
    assert early.status_code == 404
    assert "queued" in early.json()["detail"]
    await finish_next(queue, timed())
    answer = await http.get(job["links"]["log"])
    assert answer.content == "out ☃\nerr\n".encode()
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_a_queued_job_is_cancelled_for_good(http, queue):
    job = (await http.post("/v1/jobs", json=SIZES)).json()
    for _ in range(2):
        answer = await http.delete(f"/v1/jobs/{job['id']}")
        assert answer.status_code == 200
        assert answer.json()["state"] == "cancelled"
    assert await queue.claim(worker(), wait_s=0) is None


async def test_a_running_job_is_cancelled_under_its_worker(http, queue):
    job = (await http.post("/v1/jobs", json=SIZES)).json()
    lease = await queue.claim(worker(), wait_s=10)
    assert (await http.delete(f"/v1/jobs/{job['id']}")).json()["state"] == "cancelled"
    await asyncio.wait_for(queue.cancelled(lease), 10)


@pytest.mark.parametrize("rest", ["", "/events", "/source", "/log"])
async def test_an_unknown_job_is_not_found(http, rest):
    answer = await http.get(f"/v1/jobs/nobody{rest}")
    assert answer.status_code == 404
    assert answer.json()["type"] == "urn:halfbyte:problem:no-such-job"


async def test_an_unknown_job_cannot_be_cancelled(http):
    assert (await http.delete("/v1/jobs/nobody")).status_code == 404


async def test_a_list_shows_headlines_and_no_verdicts(http, queue):
    first = (await http.post("/v1/jobs", json=SIZES)).json()
    second = (await http.post("/v1/jobs", json={**SIZES, "mode": "benchmark"})).json()
    done = await finish_next(queue, timed())
    listed = (await http.get("/v1/jobs")).json()
    assert [job["id"] for job in listed["jobs"]] == [second["id"], first["id"]]
    assert listed["next_cursor"] is None
    by_id = {job["id"]: job for job in listed["jobs"]}
    assert set(by_id[done]) == {*VIEW, "headline"} - {"verdict"}
    assert by_id[done]["headline"] == {
        "outcome": "passed",
        "summary": "passed 1 case",
        "geomean_us": 12.5,
    }


async def test_a_list_is_filtered_and_paged(http):
    jobs = [(await http.post("/v1/jobs", json=SIZES)).json()["id"] for _ in range(3)]
    await http.delete(f"/v1/jobs/{jobs[1]}")

    async def ids(**query: object) -> list[str]:
        return [job["id"] for job in (await http.get("/v1/jobs", params=query)).json()["jobs"]]

    assert await ids(state="cancelled") == [jobs[1]]
    assert await ids(mode="benchmark") == []
    assert await ids(owner="anonymous", mode="test") == jobs[::-1]
    assert await ids(owner="somebody") == []
    other = (await http.post("/v1/jobs", json=SIZES | {"device": "H200"})).json()["id"]
    assert await ids(device="h200") == [other]
    assert await ids(device="any", mode="test") == jobs[::-1]
    await http.delete(f"/v1/jobs/{other}")
    assert await ids(device="H200", state="queued") == []
    page = (await http.get("/v1/jobs", params={"limit": 2, "device": "any"})).json()
    assert [job["id"] for job in page["jobs"]] == jobs[:0:-1]
    assert await ids(limit=2, device="any", cursor=page["next_cursor"]) == jobs[:1]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 201}, "limit"),
        ({"state": "Queued"}, "state"),
        ({"mode": "fast"}, "mode"),
        ({"device": "abacus"}, "device"),
        ({"cursor": "yesterday"}, "cursor"),
        ({"cursor": "٣"}, "cursor"),
        ({"sate": "queued"}, "sate"),
    ],
)
async def test_a_list_refuses_what_it_does_not_know(http, query, field):
    answer = await http.get("/v1/jobs", params=query)
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == [field]


async def test_numbers_that_are_not_finite_are_words(http, queue):
    job = (await http.post("/v1/jobs", json=SIZES)).json()
    await finish_next(queue, wrong_everywhere())
    answer = await http.get(f"/v1/jobs/{job['id']}")
    verdict = json.loads(answer.content, parse_constant=pytest.fail)["verdict"]
    assert verdict["outcome"] == "incorrect"
    assert verdict["cases"][0]["comparison"]["worst"]["got"] == "NaN"
    assert verdict["cases"][0]["comparison"]["worst"]["expected"] == "-Infinity"


def test_even_a_figure_that_should_be_finite_and_is_not_makes_no_wrong_json():
    now = datetime.now(UTC)
    job = Job(
        id="x",
        number=1,
        state=JobState.FINISHED,
        mode=Mode.TEST,
        problem="nvfp4_group_gemm",
        device="any",
        owner="anonymous",
        created_at=now,
        verdict=timed((float("inf"), float("nan"))),
    )
    shown = json.loads(job_response(job, samples=True).body, parse_constant=pytest.fail)
    assert shown["verdict"]["cases"][0]["timing"]["samples_us"] == [None, None]


async def test_a_job_without_a_log_says_why(http, queue):
    async def refusal(job: dict) -> str:
        answer = await http.get(job["links"]["log"])
        assert answer.status_code == 404
        return answer.json()["detail"]

    failed = (await http.post("/v1/jobs", json=SIZES)).json()
    assert "is queued; its log is there once it has finished" in await refusal(failed)
    for _ in range(2):  # attempts
        lease = await queue.claim(worker(), wait_s=10)
        await queue.release(lease, Fault(reason="judge_failed", message="the judge died"))
    assert "nothing of its output was kept: judge_failed, the judge died" in await refusal(failed)
    cancelled = (await http.post("/v1/jobs", json=SIZES)).json()
    await http.delete(cancelled["links"]["self"])
    assert "was cancelled" in await refusal(cancelled)
