"""The form that makes a job, as a browser without a script sends it."""

import re

import httpx
import pytest

from tests.service.pages.found import FILE
from tests.service.pages.reading import BROWSER, Page, checked, page_at


async def form(http: httpx.AsyncClient, file: bytes | None = None, **fields: str) -> httpx.Response:
    """Send the form as a browser does: a file that was not chosen has neither name nor content."""
    once = re.search('name="once" value="([0-9a-f]{32})"', (await http.get("/")).text)[1]
    blank = dict.fromkeys(("m", "n", "k", "mode"), "") | {"kernel": "auto", "device": "any"}
    part = ("kernel.py" if file else "", file or b"", "application/octet-stream")
    data = {"problem": "nvfp4_group_gemm", "once": once} | blank | fields
    return await http.post("/jobs", data=data, files={"file": part}, headers=BROWSER)


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
