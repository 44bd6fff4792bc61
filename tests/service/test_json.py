"""What is no JSON, or JSON that common parsers misread, is refused and never a fault of ours."""

import gc
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.errors import InvalidSubmission
from service.job_request import JobRequest
from service.strict_json import MalformedJson, loads


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff", 400),
        (b'\xef\xbb\xbf{"kernel":"auto"}', 400),
        ('{"kernel":"auto"}'.encode("utf-16"), 400),
        (b'{"m":[NaN],"n":[1],"k":[16]}', 400),
        (b'{"m":[Infinity],"n":[1],"k":[16]}', 400),
        (b'{"m":[' + b"9" * 5000 + b"]}", 400),
        (b"[" * 100_000, 400),
        (b'{"a":' * 100_000, 400),
        (b'{"m":[1e999],"n":[1],"k":[16]}', 422),
        (b'{"kernel":"auto","kernel":"portable"}', 422),
        (b'{"cases":[{"m":[1],"m":[2],"n":[1],"k":[16]}]}', 422),
        (b'{"m":' + b"[" * 20 + b"]" * 20 + b"}", 422),
        (b"{" + b",".join(b'"%d":1' % i for i in range(100)) + b"}", 422),
        (b'{"kernel":"\\ud800"}', 422),
        (b'{"\\ud800":1}', 422),
        (b"[]", 422),
        (b"null", 422),
        (b'"text"', 422),
        (b"3", 422),
        (b'{"kernel":null,"mode":3}', 422),
        (b'{"problem":"' + b"x" * 100_000 + b'"}', 422),
        (b'{"mode":"test","' + b"x" * 100_000 + b'":1}', 422),
    ],
)
async def test_a_body_that_is_not_as_it_has_to_be_is_refused(http, body, status):
    answer = await http.post("/v1/jobs", content=body)
    assert answer.status_code == status
    document = answer.json()
    assert document["status"] == status
    assert document["detail"]
    assert len(answer.content) < 5000
    assert (await http.get("/v1/jobs")).json()["jobs"] == []


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/x-www-form-urlencoded"])
async def test_json_is_taken_for_json_whatever_the_client_calls_it(http, content_type):
    headers = {"Content-Type": content_type} if content_type else {}
    answer = await http.post("/v1/jobs", content=b'{"kernel": "auto"}', headers=headers)
    assert answer.status_code == 202


async def test_a_form_is_sent_to_where_forms_are_taken(http):
    answer = await http.post("/v1/jobs", files={"file": ("k.py", b"")})
    assert answer.status_code == 415
    assert "/v1/submissions" in answer.json()["detail"]


async def test_a_body_beyond_all_measure_is_cut_off(http):
    async def endless():
        for _ in range(1000):
            yield b" " * 100_000

    answer = await http.post("/v1/jobs", content=endless())
    assert answer.status_code == 413
    assert answer.json()["limit"] == 1_000_000
    assert "5000000 in all" in answer.json()["detail"]


@pytest.mark.parametrize("body", [b"[" + b"[]," * 100_000 + b"1]", b"[" + b"[]," * 100_000])
def test_a_million_brackets_are_walked_over_once(body: bytes):
    """The collector went over them time and again: 4 s, in which nobody else was answered."""
    collected: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        collected.append(info["generation"])

    gc.collect()
    gc.callbacks.append(note)
    try:
        with pytest.raises((InvalidSubmission, MalformedJson)):
            loads(body, 100)
    finally:
        gc.callbacks.remove(note)
    assert len(collected) <= 10  # beside 100 of the youngest generation alone
    assert gc.isenabled()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(), inside, max_size=4),
    max_leaves=20,
)
FIELDS = st.fixed_dictionaries({}, optional=dict.fromkeys(JobRequest.model_fields, JSON))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(JSON, FIELDS).map(json.dumps).map(str.encode) | st.binary(max_size=200))
def test_every_body_is_a_request_or_a_refusal(body: bytes):
    try:
        asked = JobRequest.of(loads(body, 1024))
        asked.sent_source()
    except (InvalidSubmission, MalformedJson):
        return
    assert asked.digest(None) == JobRequest.of(loads(body, 1024)).digest(None)
