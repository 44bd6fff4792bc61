"""Pages without a browser: what they say, to whom, and that nothing in them can act."""

import re
from pathlib import Path

import httpx
import pytest

from contract.job import Fault, Progress
from contract.keys import Role
from contract.profile import AuditedCase, Profile, ProfiledKernel
from contract.verdict import HiddenCases
from service.pages.words import STAGES, rest
from service.settings import ServiceSettings
from tests.service.conftest import serving
from tests.service.pages.found import FILE, HOSTILE, V1, V2, clocked, finished, hostile, worker
from tests.service.pages.reading import BROWSER, checked, page_at
from tests.service.popcorn_jobs import H200
from tests.service.workers import wrong_everywhere


@pytest.fixture
async def job(queue):
    return await finished(queue, V1)


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/problems", "/leaderboard", "/compare", "/sign-in", "/jobs/{job}", "/docs"),
        *("/static/style.css", "/v1/jobs/{job}/roofline.svg", "/v1/jobs/{job}/samples.svg"),
        *("/v1/jobs/{job}", "/v1/jobs/{job}/log", "/healthz", "/metrics", "/openapi.json"),
        *("/v1/jobs/x/roofline.svg", "/nowhere", "/jobs/{job}/nothing"),
    ],
)
async def test_head_is_answered_as_get_is_and_without_a_body(http, job, path):
    """It was answered 405, so what looks at links and what watches a service took it for down."""
    async with httpx.AsyncClient(base_url=http.base_url) as one_connection:
        head = await one_connection.head(path.format(job=job), headers=BROWSER)
        got = await one_connection.get(path.format(job=job), headers=BROWSER)
    assert (head.status_code, head.content) == (got.status_code, b"")
    told = ("content-type", "content-security-policy", "cache-control", "location", "vary")
    assert [head.headers.get(name) for name in told] == [got.headers.get(name) for name in told]
    if path != "/metrics":  # its figures move
        assert head.headers["content-length"] == got.headers["content-length"]


async def test_a_stream_of_events_has_no_head(http, job):
    answer = await http.head(f"/v1/jobs/{job}/events")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET")


async def test_every_page_keeps_to_its_own_files_and_labels_its_fields(http, queue, job):
    other = await finished(queue, V2, source=FILE + b"# faster\n")
    builtin = await finished(queue, V2, source=None)
    for path in (
        *("/", "/problems", "/leaderboard", "/compare", "/sign-in", f"/jobs/{job}"),
        *(f"/jobs/{builtin}", f"/compare?a={job}&b={other}", f"/compare?a={job}&b={builtin}"),
        *(f"/compare?a={job}&b={job}", "/leaderboard?problem=x&owner=y"),
    ):
        await page_at(http, path)
    files = re.findall('"(/static/[^"]+)"', await page_at(http, "/"))
    assert len(files) > 1
    for path in files:
        assert (await http.get(path)).status_code == 200


async def test_what_a_candidate_wrote_stays_text(http, queue):
    bad = await finished(queue, hostile(), source=FILE + HOSTILE.encode())
    other = await finished(queue, V1)
    for path in (f"/jobs/{bad}", f"/compare?a={bad}&b={other}", "/"):
        text = await page_at(http, path)
        assert "<script>" not in text
        assert "<img" not in text
        assert "\x1b" not in text
        assert "\u202e" not in text
    text = await page_at(http, f"/jobs/{bad}")
    shown = (
        "&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;\\x1b[31m\\u202e"
    )
    # Summary (also for screen readers), message, case, both logs, source, request.
    assert text.count(shown) == 8


async def test_a_finished_job_has_what_an_engineer_looks_for(http, job):
    text = await page_at(http, f"/jobs/{job}")
    for wanted in (
        *("passed", "Roofline on NVIDIA H200", "Samples of each case", "580.95.05", "gpu-03"),
        *("8 groups", "bit-exact", "level 2: bubblewrap, seccomp", "of the speed of light"),
        *("def custom_kernel(data):", "Nothing was printed", f"/v1/jobs/{job}/source"),
    ):
        assert wanted in text, wanted
    assert "http-equiv" not in text
    assert "data-events" not in text
    assert "Cancel" not in text


async def test_where_nothing_is_finite_no_error_is_shown(http, queue):
    bad = await finished(queue, wrong_everywhere())
    assert "nothing finite" in await page_at(http, f"/jobs/{bad}")


async def test_a_profile_an_audit_and_the_device_are_shown_where_there_are_any(http, queue):
    kernel = ProfiledKernel(
        case=0, name="gemm<1>", duration_us=371.5, registers=168, occupancy=0.25
    )
    rich = clocked(V1, 1755, ("sw_power_cap",)).model_copy(
        update={
            "profile": Profile(tool="ncu", kernels=(kernel,), links={"text": "ncu.txt"}),
            "audit": (AuditedCase(case=0, median_us=412.0, kernels_us=900.0, exceeds=True),),
            "hidden": HiddenCases(cases=5, passed=4),
        }
    )
    job = await finished(queue, rich)
    text = (await page_at(http, f"/jobs/{job}")).replace("\u202f", " ")
    for wanted in (
        *("gemm&lt;1&gt;", "371.5 µs", "Audit of times", "900 µs", "4 of 5 right"),
        *("SM clock 1 755 MHz", "held down by sw_power_cap", f"/v1/jobs/{job}/artifacts/ncu.txt"),
    ):
        assert wanted in text, wanted


async def test_a_job_that_runs_refreshes_itself_with_and_without_a_script(http, queue):
    sent = (await http.post("/v1/submissions", content=FILE, params={"mode": "test"})).json()["id"]
    text = await page_at(http, f"/jobs/{sent}")
    assert "Queued, number 1 in line" in text
    lease = await queue.claim(worker(), wait_s=10)
    await queue.progress(lease, Progress(stage="testing", case=3, cases=10))
    text = await page_at(http, f"/jobs/{sent}")
    assert "Testing: case 4 of 10" in text
    assert '<noscript><meta http-equiv="refresh" content="3"></noscript>' in text
    assert f'data-events="/v1/jobs/{sent}/events"' in text
    answer = await http.post(f"/jobs/{sent}/cancel", headers=BROWSER)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/jobs/{sent}")
    text = await page_at(http, f"/jobs/{sent}")
    assert "cancelled" in text
    assert "http-equiv" not in text


async def test_a_job_that_failed_can_be_tried_again(http, queue):
    sent = (await http.post("/v1/jobs", json={})).json()["id"]
    for _ in range(2):
        lost = Fault(reason="worker_lost", message="twice")
        await queue.release(await queue.claim(worker(), wait_s=10), lost)
    assert f'action="/jobs/{sent}/retry"' in await page_at(http, f"/jobs/{sent}")
    answer = await http.post(f"/jobs/{sent}/retry", headers=BROWSER)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/jobs/{sent}")
    text = await page_at(http, f"/jobs/{sent}")
    assert "Queued, number 1 in line" in text
    assert "/retry" not in text


def test_every_stage_of_a_worker_has_words():
    told = [path.read_text() for path in Path("worker").rglob("*.py")]
    stages = {stage for text in told for stage in re.findall(r'stage="(\w+)"', text)}
    assert {"importing", "testing", "profiling"} <= stages
    assert stages == set(STAGES)


async def test_a_job_that_is_profiled_is_past_its_tests(http, queue):
    sent = await http.post("/v1/submissions", content=FILE, params={"mode": "profile"})
    lease = await queue.claim(H200, wait_s=10)
    await queue.progress(lease, Progress(stage="profiling"))
    text = await page_at(http, f"/jobs/{sent.json()['id']}")
    assert re.search(r'<li [^>]*aria-current="step">Profiling</li>', text)


async def test_a_failed_job_says_that_the_fault_is_ours(http, queue):
    sent = (await http.post("/v1/submissions", content=FILE)).json()["id"]
    for _ in range(2):
        lease = await queue.claim(worker(), wait_s=10)
        await queue.release(lease, Fault(reason="judge_failed", message="the judge died"))
    text = await page_at(http, f"/jobs/{sent}")
    assert "the judge died" in text
    assert "not the kernel" in text


def test_what_stands_beside_a_badge_keeps_its_capitals():
    assert rest("crashed in case 0: RuntimeError: NaN", "crashed") == "In case 0: RuntimeError: NaN"
    assert rest("passed", "passed") == ""
    assert rest("timed out in case 0: no answer", "timed_out") == "In case 0: no answer"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/jobs/" + "0" * 32, 404),
        ("GET", "/jobs/%3Cscript%3E", 404),
        ("GET", f"/compare?a={'0' * 32}&b=x", 404),
        ("GET", "/?cursor=x", 422),
        ("GET", "/v1/jobs/x", 404),
        ("DELETE", "/", 405),
    ],
)
async def test_browsers_get_pages_for_errors_and_programs_get_problems(http, method, path, status):
    answer = await http.request(method, path, headers=BROWSER)
    assert answer.status_code == status
    assert answer.headers["vary"] == "Accept"
    assert "<script>" not in checked(answer)
    for accept in ("*/*", "application/json", "text/event-stream"):
        answer = await http.request(method, path, headers={"Accept": accept})
        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/problem+json"


async def test_a_fault_of_ours_is_a_page_too(http, queue, job, monkeypatch):
    monkeypatch.setattr("service.pages.job.roofline_of", None)
    answer = await http.get(f"/jobs/{job}", headers=BROWSER)
    assert answer.status_code == 500
    assert "an error of ours" in checked(answer)
    assert "TypeError" not in answer.text


async def test_while_redis_is_away_a_page_asks_again(queue_settings, redis_server):
    async with serving(queue_settings) as http:
        await page_at(http, "/")
        redis_server.freeze()
        try:
            answer = await http.get("/", headers=BROWSER)
        finally:
            redis_server.thaw()
    assert answer.status_code == 503
    text = checked(answer)
    assert '<meta http-equiv="refresh" content="2">' in text


async def test_jobs_of_others_are_not_there(queue_settings, queue, keys):
    (_, alice), (_, bob), (_, admin) = [
        await keys.make(name, role)
        for name, role in (("alice", Role.SUBMIT), ("bob", Role.SUBMIT), ("root", Role.ADMIN))
    ]
    one, two = await finished(queue, V1, "alice"), await finished(queue, V2, "alice")
    bobs = await finished(queue, V1, "bob")
    private = (
        f"/jobs/{one}",
        f"/compare?a={one}&b={two}",
        f"/compare?a={bobs}&b={one}",
        f"/v1/jobs/{one}/roofline.svg",
        f"/v1/jobs/{one}/samples.svg",
    )
    async with serving(queue_settings) as http:
        for path in private:
            assert "no job" in await page_at(http, path, 404, headers=bob)
        for path in ("/", "/compare", f"/jobs/{bobs}"):
            text = await page_at(http, path, headers=bob)
            assert one not in text
            assert bobs in text
        answer = await http.post(f"/jobs/{one}/cancel", headers=BROWSER | bob)
        assert answer.status_code == 404
        for path in private[:2]:
            await page_at(http, path, headers=alice)
            await page_at(http, path, headers=admin)
        # What a file should be looked at for is for admins only.
        assert "C code" not in await page_at(http, f"/jobs/{one}", headers=alice)
        assert "C code" in await page_at(http, f"/jobs/{one}", headers=admin)


async def test_who_may_only_look_is_offered_nothing_else(queue_settings, queue, keys):
    _, reader = await keys.make("alice", Role.READ)
    async with serving(queue_settings) as http:
        text = await page_at(http, "/", headers=reader)
        assert "<form" in text  # to sign out
        assert 'action="/jobs"' not in text
        answer = await http.post("/jobs", headers=BROWSER | reader)
        assert answer.status_code == 403
        checked(answer)


async def test_pages_stay_where_popcorn_cli_is_served_at_the_root(queue_settings, queue):
    async with serving(queue_settings, ServiceSettings(popcorn_at_root=True)) as http:
        for path in ("/", "/leaderboard", "/problems", "/compare"):
            await page_at(http, path)
        sent = (await http.post("/v1/jobs", json={})).json()["id"]
        # Three words, as submissions of that client have; this one is ours.
        answer = await http.post(f"/jobs/{sent}/cancel", headers=BROWSER)
        assert answer.status_code == 303
        assert "cancelled" in await page_at(http, f"/jobs/{sent}")
        assert (await http.get("/leaderboards")).status_code == 200
