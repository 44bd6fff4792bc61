"""429: which quota is used up, and when to come back. Admins meet none."""

import asyncio

import pytest

from contract.keys import Role
from contract.quota import Quota
from service.settings import ServiceSettings
from tests.service.conftest import serving
from tests.service.test_errors import problem_in
from tests.service.workers import finish_next, timed, worker

BROKEN = b"def custom_kernel(data:\n"


def held_to(**limits: int) -> ServiceSettings:
    return ServiceSettings(quota=Quota(**limits))


@pytest.mark.parametrize(
    ("quota", "wait_s"), [("jobs_waiting", range(1, 31)), ("jobs_a_minute", range(1, 61))]
)
async def test_beyond_a_quota_it_says_which_and_when_to_come_back(
    queue_settings, keys, quota, wait_s
):
    _, alice = await keys.make("alice")
    _, bob = await keys.make("bob")
    async with serving(queue_settings, held_to(**{quota: 2})) as http:
        for _ in range(2):
            assert (await http.post("/v1/jobs", headers=alice, json={})).status_code == 202
        refused = await http.post("/v1/jobs", headers=alice, json={})
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) in wait_s
        told = problem_in(refused)
        assert (told.quota, told.limit, told.used) == (quota, 2, 2)
        assert quota in told.detail
        assert len((await http.get("/v1/jobs", headers=alice)).json()["jobs"]) == 2
        assert (await http.post("/v1/jobs", headers=bob, json={})).status_code == 202


async def test_gpu_time_of_finished_jobs_is_what_counts(queue_settings, keys, queue, redis):
    _, alice = await keys.make("alice")
    async with serving(queue_settings, held_to(gpu_seconds_an_hour=1)) as http:
        for device, spent in (("cpu", False), ("H200", True)):
            job = (await http.post("/v1/jobs", headers=alice, json={})).json()
            lease = await queue.claim(worker(device), wait_s=10)
            await redis.hincrby(f"halfbyte:job:{job['id']}", "started_at", -2_000)
            await queue.finish(lease, timed())
            answer = await http.post("/v1/jobs", headers=alice, json={})
            assert answer.status_code == (429 if spent else 202)
            if not spent:
                await finish_next(queue, timed())
        assert problem_in(answer).quota == "gpu_seconds_an_hour"
        assert 59 * 60 <= int(answer.headers["retry-after"]) <= 3600


async def test_two_keys_of_one_name_share_its_quota(queue_settings, keys):
    (_, one), (_, other) = await keys.make("alice"), await keys.make("alice")
    async with serving(queue_settings, held_to(jobs_waiting=1)) as http:
        assert (await http.post("/v1/jobs", headers=one, json={})).status_code == 202
        assert (await http.post("/v1/jobs", headers=other, json={})).status_code == 429


async def test_no_more_are_let_in_however_many_come_at_once(queue_settings, keys):
    _, alice = await keys.make("alice")
    for quota in ("jobs_waiting", "jobs_a_minute"):
        async with serving(queue_settings, held_to(**{quota: 5})) as http:
            sent = [http.post("/v1/jobs", headers=alice, json={}) for _ in range(20)]
            statuses = [answer.status_code for answer in await asyncio.gather(*sent)]
            assert (statuses.count(202), statuses.count(429)) == (5, 15)
            for job in (await http.get("/v1/jobs", headers=alice)).json()["jobs"]:
                await http.delete(f"/v1/jobs/{job['id']}", headers=alice)


async def test_a_request_repeated_by_its_key_is_answered_and_not_counted(queue_settings, keys):
    _, alice = await keys.make("alice")
    once = alice | {"Idempotency-Key": "once"}
    async with serving(queue_settings, held_to(jobs_waiting=1, jobs_a_minute=1)) as http:
        first = await http.post("/v1/jobs", headers=once, json={})
        again = await http.post("/v1/jobs", headers=once, json={})
        assert first.json()["id"] == again.json()["id"]
        assert (await http.post("/v1/jobs", headers=alice, json={})).status_code == 429


async def test_files_that_are_refused_count_too_as_looking_at_them_costs(queue_settings, keys):
    _, alice = await keys.make("alice")
    async with serving(queue_settings, held_to(jobs_a_minute=2)) as http:
        statuses = [
            (await http.post("/v1/submissions", headers=alice, content=BROKEN)).status_code
            for _ in range(3)
        ]
    assert statuses == [422, 422, 429]


@pytest.mark.parametrize("role", [Role.ADMIN, None])
async def test_admins_and_a_service_without_keys_are_not_limited(queue_settings, keys, role):
    headers = {} if role is None else (await keys.make("root", role))[1]
    tight = held_to(jobs_waiting=1, jobs_a_minute=1, gpu_seconds_an_hour=1)
    async with serving(queue_settings, tight) as http:
        for _ in range(3):
            assert (await http.post("/v1/jobs", headers=headers, json={})).status_code == 202
