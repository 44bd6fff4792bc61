"""A request that is repeated with its key is one job."""

import asyncio

import pytest

from contract.contest import Contest
from tests.service.workers import HONEST, worker

KEY = {"Idempotency-Key": "build-17"}
SIZES = {"m": [16], "n": [16], "k": [16]}


async def test_the_same_key_and_request_are_the_same_job(http, queue):
    one = await http.post("/v1/jobs", json=SIZES, headers=KEY)
    # What is alive changes the defaults, and does not make it another request.
    await queue.heartbeat(worker("H200"))
    two = await http.post("/v1/jobs", json=dict(reversed(SIZES.items())), headers=KEY)
    assert one.status_code == two.status_code == 202
    assert one.json()["id"] == two.json()["id"]
    assert len((await http.get("/v1/jobs")).json()["jobs"]) == 1


async def test_a_repeated_request_gives_its_job_whatever_became_of_workers_and_intake(http, queue):
    """The client saw no answer; were it refused now, it would not know of the job that runs."""
    for device in ("H200", "X9"):
        await queue.heartbeat(worker(device).model_copy(update={"ranked": True}))
    await queue.heartbeat(worker("cpu"))
    sent = [{"mode": "ranked"}, {"mode": "ranked", "device": "X9"}, SIZES | {"device": "X9"}]
    keys = [{"Idempotency-Key": str(place)} for place in range(len(sent))]
    first = [
        await http.post("/v1/jobs", json=s, headers=k) for s, k in zip(sent, keys, strict=True)
    ]
    for device in ("H200", "X9"):
        await queue.goodbye(worker(device).id)
    for request, key, answer in zip(sent, keys, first, strict=True):
        assert answer.status_code == 202
        assert (await http.post("/v1/jobs", json=request)).status_code == 422
        again = await http.post("/v1/jobs", json=request, headers=key)
        assert again.json()["id"] == answer.json()["id"]
    await Contest(queue.store).accept(False)
    assert (await http.post("/v1/jobs", json=SIZES)).status_code == 503
    again = await http.post("/v1/jobs", json=sent[0], headers=keys[0])
    assert (again.status_code, again.json()["id"]) == (202, first[0].json()["id"])
    other = await http.post("/v1/jobs", json=SIZES, headers=keys[0])
    assert other.json()["type"] == "urn:halfbyte:problem:idempotency-conflict"


async def test_however_a_request_is_sent_it_is_the_same(http):
    fields = {"mode": "test", "filename": "k.py"}
    raw = await http.post("/v1/submissions", content=HONEST, params=fields, headers=KEY)
    form = await http.post(
        "/v1/submissions",
        files={"file": ("k.py", HONEST)},
        data={"mode": "test"},
        headers=KEY,
    )
    plain = await http.post("/v1/jobs", json={**fields, "source": HONEST.decode()}, headers=KEY)
    assert raw.json()["id"] == form.json()["id"] == plain.json()["id"]


@pytest.mark.parametrize(
    "other", [{**SIZES, "m": [17]}, {**SIZES, "mode": "benchmark"}, {"source": HONEST.decode()}]
)
async def test_the_same_key_with_another_request_is_refused(http, other):
    await http.post("/v1/jobs", json=SIZES, headers=KEY)
    answer = await http.post("/v1/jobs", json=other, headers=KEY)
    assert answer.status_code == 422
    assert answer.json()["type"] == "urn:halfbyte:problem:idempotency-conflict"
    assert answer.json()["errors"][0]["field"] == "Idempotency-Key"
    assert len((await http.get("/v1/jobs")).json()["jobs"]) == 1


async def test_a_key_that_arrives_many_times_at_once_is_one_job(http):
    answers = await asyncio.gather(
        *(http.post("/v1/jobs", json=SIZES, headers=KEY) for _ in range(20))
    )
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["id"] for answer in answers}) == 1


@pytest.mark.parametrize("key", ["", "x" * 201, "two words", "caf\xe9", "a\tb"])
async def test_a_key_is_up_to_200_visible_ascii_characters(http, key):
    headers = {"Idempotency-Key": key.encode("latin-1")}
    answer = await http.post("/v1/jobs", json=SIZES, headers=headers)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "Idempotency-Key"


async def test_a_refused_request_does_not_use_up_its_key(http):
    assert (await http.post("/v1/jobs", json={"m": 3}, headers=KEY)).status_code == 422
    assert (await http.post("/v1/jobs", json=SIZES, headers=KEY)).status_code == 202
