"""Pages without a browser: what they say, to whom, and that nothing in them can act."""

import re
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest

from contract.job import Fault, Progress
from contract.keys import Role
from contract.profile import AuditedCase, Profile, ProfiledKernel
from contract.verdict import HiddenCases
from service.pages.render import POLICY
from service.pages.words import STAGES, rest
from service.settings import ServiceSettings
from tests.service.conftest import serving
from tests.service.pages.found import FILE, HOSTILE, V1, V2, clocked, finished, hostile, worker
from tests.service.popcorn_jobs import H200
from tests.service.workers import wrong_everywhere

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
VOID = ("meta", "link", "input", "br", "img")


class Page(HTMLParser):
    """What a page consists of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


async def page_at(http: httpx.AsyncClient, path: str, status: int = 200, **asked) -> str:
    """Fetch a page, and hold it to what holds for every page."""
    answer = await http.get(path, headers=BROWSER | asked.pop("headers", {}), **asked)
    assert answer.status_code == status
    return checked(answer)


def checked(answer: httpx.Response) -> str:
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    page = Page(answer.text)
    for tag, attrs in page.tags:
        assert "style" not in attrs
        assert not [name for name in attrs if name.startswith("on")]
        for name in ("src", "href", "action"):
            assert (attrs.get(name) or "/").startswith(("/", "#")), attrs
        if tag == "script":
            assert set(attrs) == {"src", "defer"}
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    labelled = {attrs.get("for") for attrs in page.all("label")}
    for tag in ("input", "select"):
        for attrs in page.all(tag):
            assert attrs.get("type") == "hidden" or attrs["id"] in labelled
    assert len(page.all("h1")) == 1
    assert page.all("html") == [{"lang": "en"}]
    return answer.text


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


async def form(http: httpx.AsyncClient, file: bytes | None = None, **fields: str) -> httpx.Response:
    """Send the form as a browser does: a file that was not chosen has neither name nor content."""
    once = re.search('name="once" value="([0-9a-f]{32})"', (await http.get("/")).text)[1]
    blank = dict.fromkeys(("m", "n", "k", "mode"), "") | {"kernel": "auto", "device": "any"}
    part = ("kernel.py" if file else "", file or b"", "application/octet-stream")
    data = {"problem": "nvfp4_group_gemm", "once": once} | blank | fields
    return await http.post("/jobs", data=data, files={"file": part}, headers=BROWSER)


def test_what_stands_beside_a_badge_keeps_its_capitals():
    assert rest("crashed in case 0: RuntimeError: NaN", "crashed") == "In case 0: RuntimeError: NaN"
    assert rest("passed", "passed") == ""
    assert rest("timed out in case 0: no answer", "timed_out") == "In case 0: no answer"


async def test_the_address_that_a_form_goes_to_leads_to_the_form(http):
    answer = await http.get("/jobs", headers=BROWSER)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


async def test_a_form_makes_a_job_without_a_script(http):
    answer = await form(http, m="96, 128", n="128 256", k="[256,512]", mode="test")
    assert answer.status_code == 303
    job = (await http.get(answer.headers["location"].replace("/jobs", "/v1/jobs"))).json()
    assert (job["kernel"], job["mode"], job["device"]) == ("auto", "test", "any")
    assert "auto (built in)" in await page_at(http, answer.headers["location"])


async def test_a_chosen_file_runs_in_place_of_the_built_in_kernel(http):
    answer = await form(http, FILE, device="cpu")
    job = (await http.get(answer.headers["location"].replace("/jobs", "/v1/jobs"))).json()
    assert (job["kernel"], job["filename"], job["device"]) == (None, "kernel.py", "cpu")
    source = await http.get(f"/v1/jobs/{job['id']}/source")
    assert source.content == FILE


async def test_a_form_sent_twice_is_one_job(http):
    same = {"once": "0" * 32, "m": "16", "n": "16", "k": "16"}
    first, second = await form(http, **same), await form(http, **same)
    other = await form(http, **same | {"m": "32"})
    again = await form(http, **same | {"once": "1" * 32})
    assert first.headers["location"] == second.headers["location"]
    assert len({each.headers["location"] for each in (first, other, again)}) == 3


@pytest.mark.parametrize(
    ("fields", "file", "said", "at"),
    [
        ({"m": "a, b", "n": "1", "k": "16"}, None, "integers with commas", "m"),
        ({"m": "1," * 9000, "n": "1", "k": "16"}, None, "at most 16384 characters", "m"),
        ({"m": "16", "n": "16", "k": "17"}, None, "multiple of 16", "k"),
        ({"m": "16", "n": "16"}, None, "required", "k"),
        ({"m": "16", "n": "16", "k": "16", "device": "abacus"}, None, "unknown device", "device"),
        ({"m": "16", "n": "16", "k": "16", "l": "2, 3"}, None, "must be one integer", "l"),
        ({"kernel": "<b>"}, None, "unknown kernel &#39;&lt;b&gt;&#39;", "kernel"),
        ({}, b"def f(:\n", "syntax error in line 1: invalid syntax", "file"),
        ({"callback_url": "http://10.0.0.1/"}, None, "callback_url", None),
        ({"surprise": "1"}, None, "surprise: unknown field", None),
    ],
)
async def test_what_is_wrong_stands_by_its_field_and_what_was_typed_stays(
    http, fields, file, said, at
):
    answer = await form(http, file, **fields)
    assert answer.status_code == 422
    text = checked(answer)
    assert said in text
    if at is not None:
        assert f'id="{at}-error"' in text
        (field,) = [a for _, a in Page(text).tags if a.get("id") == at]
        assert field["aria-invalid"] == "true"
        assert f"{at}-error" in field["aria-describedby"]
    for name in ("m", "n", "k"):
        if name in fields:
            assert f'id="{name}" name="{name}" value="{fields[name]}"' in text
    assert (await http.get("/v1/jobs")).json()["jobs"] == []


async def test_a_form_that_comes_too_late_is_told_so_and_stays(http):
    board = "/v1/leaderboards/nvfp4_group_gemm/window?device=H200"
    await http.put(board, json={"closes_at": "2026-01-01T00:00:00Z"})
    answer = await form(http, None, kernel="portable", mode="ranked", device="H200")
    assert answer.status_code == 409
    text = checked(answer)
    assert "takes ranked jobs on H200 until 2026-01-01T00:00:00Z" in text
    assert '<option value="H200" selected>' in text


async def test_a_form_that_is_none_is_a_page_too(http):
    for content_type in ("text/plain", "multipart/form-data", "multipart/form-data; boundary=x"):
        headers = BROWSER | {"Content-Type": content_type}
        answer = await http.post("/jobs", content=b"x", headers=headers)
        assert answer.status_code in (400, 415)
        checked(answer)


async def test_a_form_of_another_site_is_refused(http):
    headers = BROWSER | {"Origin": "https://evil.example"}
    for path in ("/jobs", "/jobs/x/cancel", "/sign-in", "/sign-out"):
        answer = await http.post(path, headers=headers)
        assert answer.status_code == 403
        assert "other sites" in checked(answer)


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
