"""Every problem through the real judge: one road, whatever its tensors look like."""

import json

import pytest

from contract.submission import Mode
from contract.verdict import Incorrect, Passed
from kernels.problem import Case
from kernels.problems import NVFP4_DUAL_GEMM, NVFP4_GEMM, NVFP4_GEMV, NVFP4_GROUP_GEMM, PROBLEMS
from tests.worker.judge_harness import MIXED, JudgeHarness

CASES = {
    NVFP4_GROUP_GEMM.name: (MIXED,),
    NVFP4_GEMM.name: (
        Case((40,), (24,), (80,), l=2, poison_padding=True),
        Case((8,), (16,), (32,)),
    ),
    NVFP4_DUAL_GEMM.name: (Case((40,), (24,), (80,), l=2, poison_padding=True),),
    NVFP4_GEMV.name: (Case((40,), (1,), (80,), l=3, poison_padding=True), Case((0,), (1,), (16,))),
}
KERNELS = [
    pytest.param(problem, kernel, id=f"{problem.name}-{kernel}")
    for problem in PROBLEMS.values()
    for kernel in problem.kernels
    if kernel != "hopper"
]
EACH = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=lambda problem: problem.name)
TRIES_ITSELF = b"""
from reference import check_implementation, generate_input, ref_kernel
from task import TestSpec, input_t, output_t
from utils import make_match_reference

def custom_kernel(data: input_t) -> output_t:
    return ref_kernel(data)

def flip(data):
    right = ref_kernel(data)
    first = right[0] if isinstance(right, list) else right
    first.view(-1)[0] += 1000
    return right

sizes = {sizes}
data = generate_input(**sizes, seed=1111)
assert check_implementation(data, ref_kernel(data))[0], "the reference disagrees with itself"
assert not check_implementation(data, flip(data))[0], "a wrong answer agrees with the reference"
print("tried")
"""
SIZES = {
    NVFP4_GROUP_GEMM.name: {"m": [8, 4], "n": [16, 8], "k": [32, 64], "g": 2},
    NVFP4_GEMM.name: {"m": 8, "n": 16, "k": 32, "l": 2},
    NVFP4_DUAL_GEMM.name: {"m": 8, "n": 16, "k": 32, "l": 1},
    NVFP4_GEMV.name: {"m": 8, "k": 32, "l": 3},
}
FORGETS_ONE = {
    NVFP4_GROUP_GEMM.name: b"from reference import ref_kernel\n"
    b"def custom_kernel(data):\n"
    b"    right = ref_kernel(data)\n"
    b"    data[0][1][2][:, :-1] = right[1][:, :-1]\n"
    b"    return [right[0], data[0][1][2], right[2]]\n",
    **dict.fromkeys(
        (NVFP4_GEMM.name, NVFP4_DUAL_GEMM.name),
        b"from reference import ref_kernel\n"
        b"def custom_kernel(data):\n"
        b"    data[-1][..., :-1] = ref_kernel(data)[..., :-1]\n"
        b"    data[-1][:, :-1, -1] = ref_kernel(data)[:, :-1, -1]\n"
        b"    return data[-1]\n",
    ),
    NVFP4_GEMV.name: b"from reference import ref_kernel\n"
    b"def custom_kernel(data):\n"
    b"    data[-1][:-1] = ref_kernel(data)[:-1]\n"
    b"    return data[-1]\n",
}


@pytest.mark.parametrize(("problem", "kernel"), KERNELS)
def test_a_built_in_kernel_passes_and_portable_the_smallest_official_case_too(
    judge: JudgeHarness, problem, kernel: str
) -> None:
    cases = CASES[problem.name]
    if kernel == "portable":
        cases = (*cases, min(problem.tests, key=problem.work))
    verdict = judge.judge(cases=cases, kernel=kernel, problem=problem.name)
    assert isinstance(verdict, Passed), verdict.message
    assert [case.l for case in verdict.cases] == [case.l for case in cases]
    if problem.official.exact:
        assert all(case.comparison.bit_exact for case in verdict.cases)


@EACH
def test_a_file_finds_task_utils_and_the_reference_of_its_problem(judge, problem) -> None:
    source = TRIES_ITSELF.replace(b"{sizes}", json.dumps(SIZES[problem.name]).encode())
    verdict = judge.judge(source, CASES[problem.name], problem=problem.name)
    assert isinstance(verdict, Passed), verdict.message
    assert verdict.log.stdout == "tried\n"
    assert all(case.comparison.bit_exact for case in verdict.cases)


@EACH
def test_what_is_never_written_is_named_with_its_place_and_can_be_repeated(
    judge: JudgeHarness, problem
) -> None:
    source = FORGETS_ONE[problem.name]
    case = CASES[problem.name][:1]
    first = judge.judge(source, case, problem=problem.name)
    assert isinstance(first, Incorrect)
    assert first.reason == "values"
    assert "never written" in first.message
    place = {
        NVFP4_GROUP_GEMM.name: "group 1, row 0, column 15",
        NVFP4_GEMV.name: "group 0, row 39, column 0",
    }
    assert first.message.startswith(place.get(problem.name, "group 1, row 0, column 23"))
    asked = json.loads(first.reproduce)
    assert asked["problem"] == problem.name
    assert asked["cases"][0].get("l", 1) == case[0].l
    fields = {name: tuple(asked["cases"][0][name]) for name in "mnk"}
    seed = int(asked["cases"][0]["seed"], 16)
    again = Case(**fields, l=case[0].l, seed=seed, poison_padding=case[0].poison_padding)
    second = judge.judge(source, (again,), problem=problem.name)
    assert second.cases[0].comparison == first.cases[0].comparison


@pytest.mark.parametrize("problem", [NVFP4_DUAL_GEMM, NVFP4_GEMV], ids=lambda one: one.name)
def test_a_built_in_kernel_compiles_for_gpus_that_are_not_here(judge, problem) -> None:
    verdict = judge.judge(
        cases=CASES[problem.name][:1],
        kernel="portable",
        mode=Mode.COMPILE,
        targets=("sm_90a",),
        problem=problem.name,
    )
    assert isinstance(verdict, Passed), verdict.message
    (kernel,) = verdict.kernels
    assert kernel.spill_bytes == 0
