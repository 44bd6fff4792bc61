"""The built-in kernels of the problems without groups, in the interpreter."""

import pytest
import torch

from kernels.catalog import candidate_source
from kernels.gemm_as_groups import as_groups
from kernels.layout import Layout, fill, handed_over
from kernels.operands import draw
from kernels.problem import Case, ConstantOperands
from kernels.problems import NVFP4_DUAL_GEMM, NVFP4_GEMM, NVFP4_GEMV
from tests.kernels.in_emulation import Emulation

NAN = 0x7F
SINGLE = (NVFP4_GEMM, NVFP4_DUAL_GEMM, NVFP4_GEMV)
KERNELS = [
    pytest.param(problem, name, id=f"{problem.name}-{name}")
    for problem in SINGLE
    for name in problem.kernels
    if name != "hopper"
]
CASES = {
    "one_element_of_work": {"m": 1, "n": 1, "k": 16},
    "ragged_batch": {"m": 33, "n": 17, "k": 48, "l": 3, "poison_padding": True},
    "ragged_and_full_range": {
        "m": 130, "n": 129, "k": 272, "l": 2, "distribution": "full_range", "poison_padding": True,
    },
    "aligned_batch": {"m": 64, "n": 136, "k": 96, "l": 2, "distribution": "full_range"},
    "no_rows": {"m": 0, "n": 8, "k": 16},
    "nan_scale": {"m": 5, "n": 9, "k": 32, "distribution": ConstantOperands(1, 1, NAN, 0x38)},
}  # fmt: skip


def case_of(problem, sizes) -> Case:
    lists = {name: (1 if problem.vector and name == "n" else sizes[name],) for name in "mnk"}
    return Case(**{**sizes, **lists})


def file_of(problem, name: str, folder) -> str:
    file = folder / "submission.py"
    file.write_bytes(candidate_source(name, problem.name))
    return str(file)


@pytest.mark.parametrize(("problem", "name"), KERNELS)
@pytest.mark.parametrize("sizes", CASES.values(), ids=CASES)
def test_any_legal_case_is_within_the_bound(
    emulation: Emulation, tmp_path, problem, name, sizes
) -> None:
    case = case_of(problem, sizes)
    found = emulation.compare(file_of(problem, name, tmp_path), case, problem=problem.name)
    assert found.worst is None


@pytest.mark.parametrize(("problem", "name"), KERNELS)
def test_the_first_official_case_is_right(emulation: Emulation, tmp_path, problem, name) -> None:
    case = min(problem.tests, key=problem.work)
    found = emulation.compare(file_of(problem, name, tmp_path), case, problem=problem.name)
    assert found.worst is None
    assert found.bit_exact or not problem.official.exact


@pytest.mark.parametrize("problem", SINGLE, ids=lambda problem: problem.name)
def test_a_misplaced_tensor_is_refused_by_name(emulation: Emulation, problem) -> None:
    message = emulation.answer(f"""
import torch
from kernels.catalog import candidate_source
from kernels.layout import Layout, handed_over
from kernels.problem import Case
from kernels.problems import PROBLEMS

problem = PROBLEMS[{problem.name!r}]
case = Case((8,), (1,), (128,), l=2)
memory = lambda shape: torch.zeros(shape, dtype=torch.uint8)
group = Layout.of(problem, case).tensors(case.groups[0], memory, memory)
data, _ = handed_over(problem, [group])
names = {{}}
exec(candidate_source("portable", problem.name), names)
crooked = list(data)
crooked[2 * len(problem.operands)] = crooked[2 * len(problem.operands)].contiguous()
try:
    names["custom_kernel"](tuple(crooked))
except ValueError as error:
    answer = str(error)
""")
    assert "sfa_reordered must be torch.float8_e4m3fn" in message


def memory(shape: tuple[int, ...]) -> torch.Tensor:
    return torch.empty(shape, dtype=torch.uint8)


def test_entries_of_a_batch_are_groups_over_the_same_memory() -> None:
    case = Case((5,), (7,), (48,), l=3)
    group = Layout.of(NVFP4_GEMM, case).tensors(case.groups[0], memory, memory)
    products = draw(case, 1, problem=NVFP4_GEMM)
    fill([group], products)
    data, _ = handed_over(NVFP4_GEMM, [group])
    abc, sf, reordered, sizes = as_groups(data)
    assert sizes == [(5, 7, 48, 1)] * 3
    for z, (product, (a, b, c)) in enumerate(zip(products, abc, strict=True)):
        assert torch.equal(a[..., 0].view(torch.uint8), product.a)
        assert torch.equal(b[..., 0].view(torch.uint8), product.b)
        assert torch.equal(sf[z][1][..., 0].view(torch.uint8), product.sfb)
        blocked = reordered[z][0].view(torch.uint8).permute(5, 2, 4, 0, 1, 3)[0]
        assert torch.equal(blocked, product.sfa_blocked)
        assert c.data_ptr() == group.output[z].data_ptr()


def test_the_source_of_a_kernel_says_what_it_adapts() -> None:
    source = candidate_source("portable", "nvfp4_gemm").decode()
    assert "from kernels.gemm_as_groups import adapted" in source
    with pytest.raises(ValueError, match="unknown kernel 'hopper'; known: auto, portable"):
        candidate_source("hopper", "nvfp4_gemv")
