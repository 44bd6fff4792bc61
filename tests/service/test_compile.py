"""Mode compile over HTTP: what is asked for, and the texts that a verdict links to."""

import pytest

from contract.profile import CompiledKernel
from contract.submission import TARGETS
from kernels.problems import PROBLEMS
from tests.service.conftest import serving
from tests.service.workers import HONEST, finish_next, timed, worker

NAME = "sm_100a-0-gemm.ptx"
KERNEL = CompiledKernel(
    name="gemm",
    target="sm_100a",
    instructions={"tcgen05.mma": 4},
    registers=128,
    spill_bytes=0,
    shared_bytes=1024,
    tma=True,
    links={"ptx": NAME},
)


async def submitted(http, **body):
    answer = await http.post("/v1/jobs", json={"mode": "compile", **body})
    assert answer.status_code == 202, answer.text
    return answer.json()


async def claimed(http, queue, **body):
    await submitted(http, **body)
    return (await queue.claim(worker(), wait_s=10)).submission


async def test_by_itself_it_compiles_for_all_targets_on_the_first_test_case(http, queue):
    submission = await claimed(http, queue)
    assert submission.targets == TARGETS
    assert submission.cases == PROBLEMS["nvfp4_group_gemm"].tests[:1]


async def test_targets_and_sizes_may_be_chosen(http, queue):
    targets = ["sm_120a", "sm_90a", "sm_120a"]
    submission = await claimed(http, queue, targets=targets, m=[8], n=[16], k=[32])
    assert submission.targets == ("sm_120a", "sm_90a")
    assert [case.groups[0] for case in submission.cases] == [(8, 16, 32)]


async def test_a_form_carries_targets_as_json(http, queue):
    fields = {"mode": "compile", "targets": '["sm_103a"]'}
    answer = await http.post("/v1/submissions", data=fields, files={"file": ("k.py", HONEST)})
    assert answer.status_code == 202, answer.text
    assert (await queue.claim(worker(), wait_s=10)).submission.targets == ("sm_103a",)


async def test_other_modes_have_no_targets(http, queue):
    await http.post("/v1/jobs", json={"mode": "test"})
    assert (await queue.claim(worker(), wait_s=10)).submission.targets == ()


@pytest.fixture
async def job(http, queue):
    """A job that has compiled something."""
    job = await submitted(http)
    lease = await queue.claim(worker(), wait_s=10)
    verdict = timed().model_copy(update={"kernels": (KERNEL,)})
    await queue.finish(lease, verdict, {NAME: "<script>\x1b[31m \u00fc".encode()})
    return job["id"]


async def test_links_lead_to_texts(http, job):
    (kernel,) = (await http.get(f"/v1/jobs/{job}")).json()["verdict"]["kernels"]
    assert kernel["links"] == {"ptx": f"/v1/jobs/{job}/artifacts/{NAME}"}
    answer = await http.get(kernel["links"]["ptx"])
    assert answer.text == "<script>\x1b[31m \u00fc"
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("name", ["sm_100a-0-gemm.sass", "..%2Fverdict", "%00", "x" * 3000])
async def test_a_text_that_is_not_there_is_404(http, job, name):
    answer = await http.get(f"/v1/jobs/{job}/artifacts/{name}")
    assert answer.status_code == 404


async def test_a_job_without_texts_has_none(http, queue):
    await http.post("/v1/jobs", json={"mode": "test"})
    job = await finish_next(queue, timed())
    answer = await http.get(f"/v1/jobs/{job}/artifacts/{NAME}")
    assert answer.status_code == 404
    assert "no such artifact" in answer.json()["detail"]


async def test_the_texts_of_others_are_not_there(queue_settings, keys, job):
    _, alice = await keys.make("alice")
    async with serving(queue_settings) as http:
        path = f"/v1/jobs/{job}/artifacts/{NAME}"
        assert (await http.get(path)).status_code == 401
        assert (await http.get(path, headers=alice)).status_code == 404
