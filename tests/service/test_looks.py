"""A job that is looked at is the job that is read as a whole, and a review is for admins."""

import json

import pytest

from contract.keys import Role
from contract.profile import CompiledKernel
from contract.verdict import ReviewFlag
from service.views import job_json
from tests.service.conftest import serving
from tests.service.test_conformance import jobs_in_every_state
from tests.service.workers import HONEST, finish_next, timed, worker, wrong_everywhere

FLAG = ReviewFlag(line=6, word="threads", why="starts threads")


def without_samples(view: dict) -> dict:
    for case in (view["verdict"] or {}).get("cases", []):
        if case["timing"] is not None:
            case["timing"].pop("samples_us", None)
    return view


async def test_a_look_says_what_the_whole_job_says(http, queue):
    for job_id in await jobs_in_every_state(http, queue):
        looked = (await http.get(f"/v1/jobs/{job_id}")).json()
        whole = (await http.get(f"/v1/jobs/{job_id}?samples=true")).json()
        assert looked == without_samples(whole)


async def test_raw_samples_are_only_for_who_asks(http, queue):
    job = (await http.post("/v1/submissions", content=HONEST)).json()
    await finish_next(queue, timed())
    assert "samples_us" not in (await http.get(job["links"]["self"])).text
    whole = (await http.get(f"{job['links']['self']}?samples=true")).json()
    assert whole["verdict"]["cases"][0]["timing"]["samples_us"] == [11.0, 12.5, 13.0]


async def test_names_of_artifacts_become_paths(http, queue):
    job = (await http.post("/v1/submissions", content=HONEST)).json()
    kernel = CompiledKernel(
        name="k", target="sm_90a", instructions={}, registers=1, spill_bytes=0, shared_bytes=0,
        tma=False, links={"ptx": "0.ptx"},
    )  # fmt: skip
    verdict = timed().model_copy(update={"kernels": (kernel,)})
    lease = await queue.claim(worker(), wait_s=10)
    await queue.finish(lease, verdict, {"0.ptx": b".version 8"})
    shown = (await http.get(job["links"]["self"])).json()["verdict"]["kernels"][0]["links"]["ptx"]
    assert (await http.get(shown)).text == ".version 8"


@pytest.mark.parametrize("query", ["", "?samples=true", "?wait=1"])
async def test_what_a_person_should_look_at_is_shown_to_admins_only(
    queue_settings, queue, keys, query
):
    _, owner = await keys.make("alice")
    _, admin = await keys.make("root", Role.ADMIN)
    async with serving(queue_settings) as http:
        job = (await http.post("/v1/submissions", content=HONEST, headers=owner)).json()
        await finish_next(queue, wrong_everywhere().model_copy(update={"review": (FLAG,)}))
        path = job["links"]["self"]
        for headers, flags in ((owner, []), (admin, [FLAG.model_dump()])):
            answer = await http.get(path + query, headers=headers)
            assert answer.json()["verdict"]["review"] == flags
            answer = await http.delete(path, headers=headers)
            assert answer.json()["verdict"]["review"] == flags


async def test_a_callback_goes_to_the_owner_and_tells_no_review(http, queue):
    job = (await http.post("/v1/submissions", content=HONEST)).json()
    await finish_next(queue, wrong_everywhere().model_copy(update={"review": (FLAG,)}))
    told = json.loads(job_json(await queue.get(job["id"])))
    assert told["verdict"]["review"] == []
    assert told["verdict"]["outcome"] == "incorrect"
