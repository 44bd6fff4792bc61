"""A job that failed by a fault of ours, judged again over HTTP: by whom, when, and how often."""

import pytest

from contract.contest import Contest
from contract.job import Fault
from contract.keys import Role
from contract.quota import Quota
from service.settings import ServiceSettings
from tests.service.conftest import serving
from tests.service.test_errors import problem_in
from tests.service.workers import finish_next, timed, worker


async def failed(http, queue, headers=None) -> str:
    """Have a job sent and fail; nothing else may wait."""
    job = (await http.post("/v1/jobs", json={}, headers=headers)).json()
    for _ in range(2):
        lost = Fault(reason="worker_lost", message="twice")
        await queue.release(await queue.claim(worker(), wait_s=10), lost)
    return f"/v1/jobs/{job['id']}"


async def test_a_failed_job_is_judged_again_as_of_when_it_was_sent(http, queue):
    path = await failed(http, queue)
    before = (await http.get(path)).json()
    assert (before["state"], before["attempts"]) == ("failed", 2)
    answer = await http.post(f"{path}/retry")
    assert answer.status_code == 202
    job = answer.json()
    assert (job["state"], job["position"], job["error"]) == ("queued", 1, None)
    assert job["hint"].startswith("no live worker takes jobs of mode test")
    same = ("id", "number", "created_at", "owner", "sha256")
    assert [job[name] for name in same] == [before[name] for name in same]
    await finish_next(queue, timed())
    job = (await http.get(path)).json()
    assert (job["state"], job["attempts"]) == ("finished", 3)


async def test_a_job_that_has_a_verdict_is_not_judged_again(http, queue):
    path = f"/v1/jobs/{(await http.post('/v1/jobs', json={})).json()['id']}"
    await finish_next(queue, timed())
    answer = await http.post(f"{path}/retry")
    assert answer.status_code == 409
    document = problem_in(answer)
    assert document.type == "urn:halfbyte:problem:nothing-to-retry"
    assert document.detail == "the job is finished: only one that failed is tried again"
    assert (await http.post(f"/v1/jobs/{'0' * 32}/retry")).status_code == 404


async def test_its_owner_may_and_nobody_else_but_an_admin(queue_settings, queue, keys):
    _, alice = await keys.make("alice")
    _, bob = await keys.make("bob")
    _, reader = await keys.make("alice", Role.READ)
    _, root = await keys.make("root", Role.ADMIN)
    async with serving(queue_settings) as http:
        path = await failed(http, queue, alice)
        for who, status in ((bob, 404), (reader, 403), (alice, 202), (root, 202)):
            assert (await http.post(f"{path}/retry", headers=who)).status_code == status


async def test_it_counts_like_a_job_that_is_sent(queue_settings, queue, keys):
    _, alice = await keys.make("alice")
    async with serving(queue_settings, ServiceSettings(quota=Quota(jobs_a_minute=2))) as http:
        path = await failed(http, queue, alice)
        assert (await http.post(f"{path}/retry", headers=alice)).status_code == 202
        answer = await http.post(f"{path}/retry", headers=alice)
        assert (answer.status_code, problem_in(answer).model_extra["quota"]) == (
            *(429, "jobs_a_minute"),
        )


async def test_it_waits_within_the_quota_of_jobs_that_wait(queue_settings, queue, keys):
    _, alice = await keys.make("alice")
    async with serving(queue_settings, ServiceSettings(quota=Quota(jobs_waiting=1))) as http:
        path = await failed(http, queue, alice)
        await http.post("/v1/jobs", json={}, headers=alice)
        answer = await http.post(f"{path}/retry", headers=alice)
        assert (answer.status_code, problem_in(answer).model_extra["quota"]) == (
            *(429, "jobs_waiting"),
        )


@pytest.mark.parametrize("open_again", [False, True])
async def test_it_waits_for_an_intake_that_is_stopped(http, queue, open_again):
    path = await failed(http, queue)
    await Contest(queue.store).accept(jobs=False)
    assert (await http.post(f"{path}/retry")).status_code == 503
    assert (await http.get(path)).json()["state"] == "failed"
    if open_again:
        await Contest(queue.store).accept(jobs=True)
        assert (await http.post(f"{path}/retry")).status_code == 202
