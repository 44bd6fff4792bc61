import pytest
from hypothesis import given, settings

from kernels.problem import Case
from tests.kernels.in_emulation import Emulation
from tests.kernels.kernel_cases import ANY, MANY_GROUPS, OFFICIAL
from tests.strategies import cases, seeds

KERNEL = "kernels.dot_scaled_gemm"


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


def test_an_address_that_no_descriptor_takes_is_refused(emulation: Emulation) -> None:
    message = emulation.answer("""
import torch
from kernels.dot_scaled_gemm import custom_kernel
from kernels.layout import submission_data
from kernels.operands import draw
from kernels.problem import Case

groups = draw(Case(m=(4,), n=(8,), k=(32,)), 1)
crooked = torch.empty(33, dtype=torch.float16)[1:].view(4, 8)
try:
    custom_kernel(submission_data(groups, [crooked]))
except ValueError as error:
    answer = str(error)
""")
    assert message == "every tensor must start at a multiple of 16 bytes"
