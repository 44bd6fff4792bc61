import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import reference as module
from kernels.nvfp4 import decode_e2m1, decode_e4m3, encode_e4m3
from kernels.operands import GroupOperands, draw
from kernels.problem import Case
from kernels.reference import output, reference, reference_blocks, round_to_float16, ulp16
from kernels.scale_layout import to_blocked
from tests.strategies import named_distributions, seeds

SEED = 77
ALL_FLOAT16 = torch.arange(-(1 << 15), 1 << 15).to(torch.int16).view(torch.float16)


def group_of(a, b, sfa, sfb) -> GroupOperands:
    return GroupOperands(a, b, sfa, sfb, to_blocked(sfa), to_blocked(sfb))


def exact_dot(group: GroupOperands, row: int, column: int, *, magnitude: bool) -> Fraction:
    total = Fraction(0)
    a, b = decode_e2m1(group.a[row]).tolist(), decode_e2m1(group.b[column]).tolist()
    sfa, sfb = decode_e4m3(group.sfa[row]).tolist(), decode_e4m3(group.sfb[column]).tolist()
    for index, (left, right) in enumerate(zip(a, b, strict=True)):
        scale = Fraction(sfa[index // 16]) * Fraction(sfb[index // 16])
        product = Fraction(left) * Fraction(right) * scale
        total += abs(product) if magnitude else product
    return total


@given(seed=seeds, distribution=named_distributions, blocks=st.integers(1, 20))
@settings(max_examples=20, deadline=None)
def test_the_reference_is_the_exact_sum_of_fractions(seed, distribution, blocks):
    (group,) = draw(Case(m=(3,), n=(2,), k=(blocks * 16,)), seed, distribution)
    found = reference(group)
    for row in range(3):
        for column in range(2):
            value, magnitude = found.value[row, column], found.magnitude[row, column]
            assert Fraction(value.item()) == exact_dot(group, row, column, magnitude=False)
            assert Fraction(magnitude.item()) == exact_dot(group, row, column, magnitude=True)


def test_small_blocks_give_the_same_reference(monkeypatch):
    (group,) = draw(Case(m=(70,), n=(45,), k=(96,)), SEED, "full_range")
    whole, answer = reference(group), output(group)
    monkeypatch.setattr(module, "_BLOCK_ELEMENTS", 500)
    assert len(list(reference_blocks(group))) == 14
    pieces = reference(group)
    assert torch.equal(pieces.value, whole.value)
    assert torch.equal(pieces.magnitude, whole.magnitude)
    assert torch.equal(output(group), answer)


@given(seed=seeds, order=st.permutations(range(20)))
@settings(max_examples=10, deadline=None)
def test_permuting_rows_permutes_the_reference(seed, order):
    (group,) = draw(Case(m=(20,), n=(24,), k=(64,)), seed, "full_range")
    moved = group_of(group.a[order], group.b, group.sfa[order], group.sfb)
    assert torch.equal(output(moved), output(group)[order])
    swapped = group_of(group.b, group.a, group.sfb, group.sfa)
    assert torch.equal(output(swapped), output(group).T)


@given(seed=seeds)
@settings(max_examples=10, deadline=None)
def test_doubling_the_scales_doubles_the_reference(seed):
    (group,) = draw(Case(m=(40,), n=(24,), k=(128,)), seed, "full_range")
    halvable = torch.where(group.sfa > 0x76, 0x76, group.sfa).to(torch.uint8)
    doubled = encode_e4m3(decode_e4m3(halvable) * 2)
    one = reference(group_of(group.a, group.b, halvable, group.sfb))
    two = reference(group_of(group.a, group.b, doubled, group.sfb))
    assert torch.equal(two.value, one.value * 2)
    assert torch.equal(two.magnitude, one.magnitude * 2)


@given(seed=seeds)
@settings(max_examples=10, deadline=None)
def test_flipping_every_sign_of_one_operand_flips_the_output(seed):
    (group,) = draw(Case(m=(40,), n=(24,), k=(128,)), seed, "full_range")
    flipped = group_of(group.a ^ 0x88, group.b, group.sfa, group.sfb)
    assert torch.equal(output(flipped), -output(group))


def test_an_empty_group_has_an_empty_answer():
    (group,) = draw(Case(m=(0,), n=(128,), k=(256,)), SEED)
    assert reference(group).value.shape == (0, 128)
    assert output(group).shape == (0, 128)
    assert output(group).dtype == torch.float16


def test_official_answers_need_no_rounding_of_the_sum():
    (group,) = draw(Case(m=(64,), n=(64,), k=(7168,)), SEED)
    value = reference(group).value
    assert torch.equal(value * 4, (value * 4).round())
    assert value.abs().max() < 64512


def test_spacing_is_that_of_float16_at_every_float16():
    """The distance to the next larger one; beyond the largest as if there were more."""
    magnitudes = ALL_FLOAT16[(ALL_FLOAT16 >= 0) & ~ALL_FLOAT16.signbit()].double()
    steps = magnitudes.diff()
    steps[-1] = 32
    assert torch.equal(ulp16(magnitudes[:-1]), steps)
    assert torch.equal(ulp16(-magnitudes[:-1]), steps)


@pytest.mark.parametrize(
    ("value", "spacing"),
    [
        (0.0, 2.0**-24),
        (1e-300, 2.0**-24),
        (2.0**-14, 2.0**-24),
        (2.0**-13, 2.0**-23),
        (1.9999999, 2.0**-10),
        (32767.9, 16),
        (32768, 32),
        (1e300, 32),
    ],
)
def test_spacing_is_bounded_at_both_ends(value, spacing):
    assert ulp16(torch.tensor([value, -value], dtype=torch.float64)).tolist() == [spacing] * 2


def rounds_like_numpy(values: torch.Tensor) -> bool:
    """numpy converts float64 to float16 in one rounding."""
    with np.errstate(over="ignore", under="ignore"):
        expected = torch.from_numpy(values.numpy().astype(np.float16))
    return torch.equal(round_to_float16(values).view(torch.int16), expected.view(torch.int16))


def test_rounding_is_right_at_beside_and_between_all_float16():
    finite = ALL_FLOAT16[ALL_FLOAT16.isfinite()].double()
    assert rounds_like_numpy(finite)
    ties = finite + ulp16(finite).copysign(finite) / 2
    for values in (
        ties,
        ties.nextafter(torch.zeros_like(ties)),
        ties.nextafter(torch.full_like(ties, math.inf)),
        ties.nextafter(torch.full_like(ties, -math.inf)),
    ):
        assert rounds_like_numpy(values)


@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_rounding_is_right_for_any_number(values):
    assert rounds_like_numpy(torch.tensor(values, dtype=torch.float64))


def test_rounding_happens_once():
    """Through float32 this tie-breaker is lost and the tie goes down to even."""
    value = torch.tensor([1 + 2.0**-11 + 2.0**-40], dtype=torch.float64)
    assert value.float().half().item() == 1.0
    assert round_to_float16(value).item() == 1 + 2.0**-10
    assert round_to_float16(torch.tensor([math.nan], dtype=torch.float64)).isnan().all()
