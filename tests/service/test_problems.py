"""All problems over HTTP: what they list, and what they take for a case."""

import pytest

from contract.problem import PROBLEMS
from tests.service.test_sizes import refused
from tests.service.workers import worker

SIZES = {
    "nvfp4_group_gemm": {"m": [16, 8], "n": [16, 8], "k": [16, 32]},
    "nvfp4_gemm": {"m": [16], "n": [16], "k": [16], "l": 2},
    "nvfp4_dual_gemm": {"m": [16], "n": [16], "k": [16], "l": 2},
    "nvfp4_gemv": {"m": [16], "n": [1], "k": [16], "l": 8},
}


async def claimed(http, queue, body):
    """Submit, and return what a worker gets."""
    answer = await http.post("/v1/jobs", json=body)
    assert answer.status_code == 202, answer.text
    return (await queue.claim(worker(), wait_s=10)).submission


@pytest.mark.parametrize("name", PROBLEMS)
async def test_a_job_without_sizes_runs_the_official_cases_of_its_problem(http, queue, name):
    for mode, cases in (("test", PROBLEMS[name].tests), ("compile", PROBLEMS[name].tests[:1])):
        submission = await claimed(http, queue, {"problem": name, "mode": mode})
        assert (submission.problem, submission.cases) == (name, cases)


@pytest.mark.parametrize("name", PROBLEMS)
async def test_sizes_are_those_of_the_problem(http, queue, name):
    body = {"problem": name, "kernel": "portable", "mode": "test"}
    for form in (SIZES[name], {"cases": [SIZES[name]]}):
        (case,) = (await claimed(http, queue, {**body, **form})).cases
        assert (list(case.m), case.l) == (SIZES[name]["m"], SIZES[name].get("l", 1))


@pytest.mark.parametrize(
    ("name", "change", "field"),
    [
        ("nvfp4_group_gemm", {"l": 2}, "l"),
        ("nvfp4_gemm", {"m": [1, 2], "n": [1, 2], "k": [16, 16]}, "m"),
        ("nvfp4_gemm", {"l": 0}, "l"),
        ("nvfp4_gemm", {"l": 1025}, "l"),
        ("nvfp4_gemm", {"l": [2]}, "l"),
        ("nvfp4_gemm", {"l": "2"}, "l"),
        ("nvfp4_gemm", {"m": [65536], "k": [65536], "l": 2}, "m"),
        ("nvfp4_gemv", {"n": [2]}, "n[0]"),
        ("nvfp4_gemv", {"kernel": "dot_scaled"}, "kernel"),
    ],
)
async def test_what_is_no_case_of_a_problem_is_named(http, name, change, field):
    assert await refused(http, {"problem": name, **SIZES[name], **change}) == [field]
    if field not in ("kernel", "m") and "m" not in change:
        body = {"problem": name, "cases": [{**SIZES[name], **change}]}
        assert await refused(http, body) == [f"cases[0].{field}"]


async def test_a_form_takes_a_batch_as_an_integer(http, queue):
    answer = await http.post(
        "/v1/submissions",
        data={"problem": "nvfp4_gemv", "m": "[16]", "n": "[1]", "k": "[32]", "l": "3"},
        files={"file": ("k.py", b"def custom_kernel(data):\n    return data[-1]\n")},
    )
    assert answer.status_code == 202, answer.text
    (case,) = (await queue.claim(worker(), wait_s=10)).submission.cases
    assert case.l == 3
