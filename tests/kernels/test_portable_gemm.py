import pytest
from hypothesis import given, settings

from kernels.problem import Case, GroupShape
from kernels.tiles import portable_tile
from tests.kernels.in_emulation import Emulation
from tests.kernels.kernel_cases import ANY, MANY_GROUPS, MOST_GROUPS, OFFICIAL
from tests.strategies import cases, seeds

KERNEL = "kernels.portable_gemm"


@pytest.mark.parametrize("name", OFFICIAL)
def test_official_cases_are_bit_exact(emulation: Emulation, name: str) -> None:
    assert emulation.compare(KERNEL, OFFICIAL[name]).bit_exact


@pytest.mark.parametrize("name", ANY)
def test_any_legal_case_is_within_the_bound(emulation: Emulation, name: str) -> None:
    assert emulation.compare(KERNEL, ANY[name]).worst is None


@settings(max_examples=10, deadline=None)
@given(case=cases(), seed=seeds)
def test_drawn_cases_are_within_the_bound(emulation: Emulation, case: Case, seed: int) -> None:
    assert emulation.compare(KERNEL, case, seed).worst is None


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_many_groups_of_one_row_beside_a_large_one(emulation: Emulation) -> None:
    assert emulation.compare(KERNEL, MANY_GROUPS).bit_exact


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_as_many_groups_as_a_request_may_have(emulation: Emulation) -> None:
    assert emulation.compare(KERNEL, MOST_GROUPS).bit_exact


def test_every_scale_byte_and_every_code_decodes_as_the_reference_does(
    emulation: Emulation,
) -> None:
    # Row i of A has scale byte i and all codes; B picks one element of k after another.
    answer = emulation.answer("""
import torch
from kernels.nvfp4 import dequantize, pack
from kernels.portable_gemm import custom_kernel
from kernels.scale_layout import to_blocked

def last(x): return x.unsqueeze(0).permute(1, 2, 0)
def blocked(x): return to_blocked(x).view(torch.float8_e4m3fn)[None].permute(3, 4, 1, 5, 2, 0)
a = pack(torch.arange(16, dtype=torch.uint8).repeat(256, 1))
sfa = torch.arange(256, dtype=torch.uint8)[:, None]
b = pack(2 * torch.eye(16, dtype=torch.uint8))
sfb = torch.full((16, 1), 0x38, dtype=torch.uint8)
c = torch.empty(256, 16, dtype=torch.float16)
fp4 = torch.float4_e2m1fn_x2
custom_kernel((
    [(last(a.view(fp4)), last(b.view(fp4)), last(c))], [],
    [(blocked(sfa), blocked(sfb))], [(256, 16, 16, 1)],
))
wanted = dequantize(a, sfa, torch.float16)
answer = torch.equal(c[wanted.isfinite()], wanted[wanted.isfinite()])
answer = answer and bool((c.isnan() == wanted.isnan().any(1, keepdim=True)).all())
""")
    assert answer is True


def test_a_misplaced_tensor_is_refused_by_name(emulation: Emulation) -> None:
    message = emulation.answer("""
import torch
from kernels.layout import submission_data
from kernels.operands import draw
from kernels.portable_gemm import custom_kernel
from kernels.problem import Case

groups = draw(Case(m=(4, 4), n=(8, 8), k=(32, 128)), 1)
abc, sf, blocked, sizes = submission_data(groups, [torch.empty(4, 8, dtype=torch.float16)] * 2)
blocked[1] = (blocked[1][0].contiguous(), blocked[1][1])
try:
    custom_kernel((abc, sf, blocked, sizes))
except ValueError as error:
    answer = str(error)
""")
    assert message.startswith("group 1: sfa_reordered must be torch.float8_e4m3fn")


def test_tiles_for_gpus_do_not_grow_with_the_problem() -> None:
    small, large = (portable_tile([GroupShape(m, 4096, 7168)], False) for m in (64, 65536))
    assert small == large
