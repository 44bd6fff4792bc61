"""The epilogue of the dual GEMM: not stricter than honest float32, not laxer than it has to be."""

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.compare import compare, describe
from kernels.nvfp4 import decode_e2m1, decode_e4m3, dequantize
from kernels.operands import draw
from kernels.problem import Case
from kernels.problems import NVFP4_DUAL_GEMM
from kernels.reference import Wanted, output, wanted_blocks
from kernels.silu_gate import combine
from tests.strategies import named_distributions, seeds

SEED = 5
DEEP = Case((64,), (96,), (7168,))


def drawn(case: Case, seed: int, distribution: str = "official"):
    return draw(case, seed, distribution, NVFP4_DUAL_GEMM)


def found_in(answer, products, distribution="official"):
    official = distribution == "official"
    return compare([answer], products, official=official, problem=NVFP4_DUAL_GEMM)


def sums(products, dtype=torch.float32, without: slice | None = None):
    """Both sums at this precision; `without` leaves out some of k."""
    for product in products:
        a, b = (
            dequantize(packed, scale, dtype)
            for packed, scale in ((product.a, product.sfa), (product.b, product.sfb))
        )
        if without is not None:
            a[:, without] = 0
        yield a @ b.T


def silu(x):
    return x / (1 + (-x).exp())


def exact_sum(product, row: int, column: int) -> Fraction:
    a, b = decode_e2m1(product.a[row]).tolist(), decode_e2m1(product.b[column]).tolist()
    sfa, sfb = decode_e4m3(product.sfa[row]).tolist(), decode_e4m3(product.sfb[column]).tolist()
    terms = zip(a, b, strict=True)
    return sum(
        (
            Fraction(x) * Fraction(y) * Fraction(sfa[i // 16]) * Fraction(sfb[i // 16])
            for i, (x, y) in enumerate(terms)
        ),
        Fraction(0),
    )


@given(seed=seeds, distribution=named_distributions, blocks=st.integers(1, 12))
@settings(max_examples=15, deadline=None)
def test_the_reference_is_silu_of_one_exact_sum_times_the_other(seed, distribution, blocks):
    products = drawn(Case((3,), (2,), (blocks * 16,)), seed, distribution)
    ((_, found),) = wanted_blocks(NVFP4_DUAL_GEMM, products)
    for row in range(3):
        for column in range(2):
            gate, up = (float(exact_sum(product, row, column)) for product in products)
            wanted = gate / (1 + math.exp(-gate)) * up if gate > -700 else 0.0
            assert found.value[row, column].item() == pytest.approx(wanted, rel=2**-48, abs=1e-300)


@given(seed=seeds, distribution=named_distributions, k=st.sampled_from([16, 272, 2048]))
@settings(max_examples=15, deadline=None)
def test_honest_float32_passes(seed, distribution, k):
    products = drawn(Case((64,), (96,), (k,)), seed, distribution)
    gate, up = sums(products)
    comparison = found_in((silu(gate) * up).half(), products, distribution)
    assert comparison.mismatched_elements == 0, describe(comparison)


@pytest.mark.parametrize("distribution", ["official", "full_range"])
def test_honest_float32_passes_one_product_at_a_time(distribution):
    """In the order that rounds most."""
    products = drawn(DEEP, SEED, distribution)
    totals = []
    for product in products:
        a = dequantize(product.a, product.sfa, torch.float32)
        b = dequantize(product.b, product.sfb, torch.float32)
        total = torch.zeros(64, 96)
        for index in range(a.shape[1]):
            total += torch.outer(a[:, index], b[:, index])
        totals.append(total)
    answer = (silu(totals[0]) * totals[1]).half()
    comparison = found_in(answer, products, distribution)
    assert comparison.mismatched_elements == 0, describe(comparison)


@pytest.mark.parametrize("distribution", ["official", "full_range"])
@pytest.mark.parametrize(
    ("wrong", "share"),
    [
        (lambda gate, up: gate * up, 0.3),
        (lambda gate, up: silu(up) * gate, 0.3),
        (lambda gate, up: silu(gate), 0.3),
        (lambda gate, up: gate.relu() * up, 0.02),
        (lambda gate, up: silu(gate.half().float()) * up.half().float(), 0.02),
        (lambda gate, up: torch.nn.functional.gelu(gate) * up, 0.02),
    ],
    ids=["no_silu", "swapped", "no_product", "relu", "sums_in_float16", "gelu"],
)
def test_a_wrong_epilogue_is_caught(distribution, wrong, share):
    products = drawn(Case((64,), (96,), (256,)), SEED, distribution)
    answer = wrong(*sums(products)).half()
    comparison = found_in(answer, products, distribution)
    assert comparison.mismatched_elements > share * answer.numel()


@given(seed=seeds, block=st.integers(0, 447))
@settings(max_examples=5, deadline=None)
def test_one_block_of_448_left_out_of_both_sums_is_caught(seed, block):
    products = drawn(DEEP, seed)
    gate, up = sums(products, without=slice(16 * block, 16 * block + 16))
    comparison = found_in((silu(gate) * up).half(), products)
    assert comparison.mismatched_elements > 0.3 * gate.numel()


def test_a_sum_that_may_be_off_allows_what_silu_makes_of_it():
    gate = Wanted(torch.tensor([30.0, -30.0, 0.0]), torch.tensor([0.5, 0.5, 0.5]))
    up = Wanted(torch.tensor([2.0, 2.0, 2.0]), torch.zeros(3))
    found = combine(*(Wanted(*(part.double() for part in each)) for each in (gate, up)))
    assert found.rounding[0] == pytest.approx(1.0, rel=1e-3)  # a slope of one
    assert found.rounding[1] < 1e-10  # flat
    assert found.rounding[2] == pytest.approx(0.6, rel=0.1)


def test_the_rounded_reference_is_bit_exact():
    products = drawn(Case((40,), (24,), (64,)), SEED, "full_range")
    answer = output(*products, problem=NVFP4_DUAL_GEMM)
    assert found_in(answer, products, "full_range").bit_exact
