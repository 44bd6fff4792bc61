import dataclasses
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import reference as reference_module
from kernels.compare import compare, describe, merge
from kernels.measurement import Comparison, Worst
from kernels.nvfp4 import E4M3_NAN, dequantize, pack
from kernels.operands import draw
from kernels.problem import Case, ConstantOperands
from kernels.reference import output, reference
from tests.strategies import seeds

SEED = 20260131
FLOAT16_LARGEST = 65504.0
DEEP = Case(m=(64,), n=(96,), k=(7168,))


def compared(answer, group, official=True) -> Comparison:
    return compare([answer], [group], official=official)


def share_outside(comparison: Comparison, answer: torch.Tensor) -> float:
    return comparison.mismatched_elements / answer.numel()


def without(group, columns: slice) -> torch.Tensor:
    """The answer of a kernel that leaves out some elements along k, correctly rounded."""
    a, b = dequantize(group.a, group.sfa), dequantize(group.b, group.sfb)
    return (a @ b.T - a[:, columns] @ b[:, columns].T).half()


@pytest.mark.parametrize("distribution", ["official", "full_range"])
@pytest.mark.parametrize("k", [16, 272, 7168])
def test_the_rounded_reference_is_bit_exact(distribution, k):
    case = Case(m=(70, 0, 3), n=(40, 16, 130), k=(k,) * 3)
    groups = draw(case, SEED, distribution)
    comparison = compare(
        [output(group) for group in groups], groups, official=distribution == "official"
    )
    assert comparison.mismatched_elements == 0
    assert comparison.bit_exact
    assert comparison.worst is None
    assert comparison.within_bound


@given(
    seed=seeds,
    distribution=st.sampled_from(["official", "full_range"]),
    blocks=st.sampled_from([1, 3, 16, 64, 128, 448]),
    pieces=st.sampled_from([1, 4, 16, 100]),
)
@settings(max_examples=40, deadline=None)
def test_honest_float32_sums_pass_in_any_order(seed, distribution, blocks, pieces):
    (group,) = draw(Case(m=(64,), n=(96,), k=(blocks * 16,)), seed, distribution)
    order = torch.randperm(blocks * 16, generator=torch.Generator().manual_seed(seed % 2**62))
    a = dequantize(group.a, group.sfa, torch.float32)[:, order]
    b = dequantize(group.b, group.sfb, torch.float32)[:, order]
    total = torch.zeros(64, 96)
    for left, right in zip(a.chunk(pieces, 1), b.chunk(pieces, 1), strict=True):
        total += left @ right.T
    comparison = compared(total.half(), group, official=distribution == "official")
    assert comparison.mismatched_elements == 0, describe(comparison)
    if distribution == "official":
        assert comparison.bit_exact


@given(seed=seeds, k=st.sampled_from([16, 80, 512]))
@settings(max_examples=10, deadline=None)
def test_honest_float32_sums_pass_one_product_at_a_time(seed, k):
    (group,) = draw(Case(m=(64,), n=(96,), k=(k,)), seed, "full_range")
    a = dequantize(group.a, group.sfa, torch.float32)
    b = dequantize(group.b, group.sfb, torch.float32)
    total = torch.zeros(64, 96)
    for index in range(k):
        total += torch.outer(a[:, index], b[:, index])
    comparison = compared(total.half(), group, official=False)
    assert comparison.mismatched_elements == 0, describe(comparison)


@given(seed=seeds, left_out=st.integers(0, 7167))
@settings(max_examples=5, deadline=None)
def test_one_element_of_7168_left_out_is_caught_on_official_operands(seed, left_out):
    (group,) = draw(DEEP, seed)
    answer = without(group, slice(left_out, left_out + 1))
    assert share_outside(compared(answer, group), answer) > 0.25


@given(seed=seeds, block=st.integers(0, 447))
@settings(max_examples=5, deadline=None)
def test_one_block_left_out_is_caught_in_nearly_every_output(seed, block):
    (group,) = draw(DEEP, seed)
    answer = without(group, slice(16 * block, 16 * block + 16))
    assert share_outside(compared(answer, group), answer) > 0.9


@given(seed=seeds, block=st.integers(0, 447))
@settings(max_examples=5, deadline=None)
def test_one_block_left_out_is_caught_on_full_range_operands(seed, block):
    (group,) = draw(DEEP, seed, "full_range")
    answer = without(group, slice(16 * block, 16 * block + 16))
    assert share_outside(compared(answer, group, official=False), answer) > 0.5


@pytest.mark.parametrize("distribution", ["official", "full_range"])
def test_zeros_are_caught(distribution):
    (group,) = draw(DEEP, SEED, distribution)
    answer = torch.zeros(64, 96, dtype=torch.float16)
    comparison = compared(answer, group, official=distribution == "official")
    assert share_outside(comparison, answer) > 0.98
    assert not comparison.bit_exact


def test_a_clamp_to_the_largest_finite_value_is_caught_and_named():
    distribution = ConstantOperands(a_code=7, b_code=(7, 7, 15), a_scale=0x38, b_scale=0x38)
    case = Case(m=(128,) * 3, n=(128,) * 3, k=(1792, 2048, 2048), distribution=distribution)
    groups = draw(case, SEED)
    honest = [output(group) for group in groups]
    assert [answer[0, 0].item() for answer in honest] == [64512, math.inf, -math.inf]
    found = compare(honest, groups, official=False)
    assert found.within_bound
    assert found.bit_exact
    assert found.non_finite_elements == 2 * 128 * 128

    clamped = [answer.clamp(-FLOAT16_LARGEST, FLOAT16_LARGEST) for answer in honest]
    found = compare(clamped, groups, official=False)
    assert found.mismatched_elements == 2 * 128 * 128
    assert found.non_finite_elements == 0
    assert found.worst == Worst(1, 0, 0, FLOAT16_LARGEST, "Infinity")
    assert math.isfinite(found.max_abs_error)
    assert "got 65504.0, expected Infinity" in describe(found)


def test_a_large_group_is_compared_in_blocks_of_rows(monkeypatch):
    (group,) = draw(Case(m=(50,), n=(24,), k=(64,)), SEED, "full_range")
    answer = output(group)
    answer[2, 3] = 0
    answer[41, 7] = math.nan
    whole = compared(answer, group, official=False)
    assert (whole.worst.row, whole.worst.col) == (41, 7)
    monkeypatch.setattr(reference_module, "_BLOCK_ELEMENTS", 64 * 8)
    assert len(list(reference_module.reference_blocks(group))) == 7
    assert compared(answer, group, official=False) == whole


def test_infinity_of_the_wrong_sign_is_wrong():
    distribution = ConstantOperands(a_code=7, b_code=7, a_scale=0x38, b_scale=0x38)
    (group,) = draw(Case(m=(1,), n=(1,), k=(2048,), distribution=distribution), SEED)
    answer = torch.full((1, 1), -math.inf, dtype=torch.float16)
    assert compared(answer, group, official=False).worst == Worst(0, 0, 0, "-Infinity", "Infinity")


def test_a_nan_scale_makes_exactly_its_outputs_nan():
    (group,) = draw(Case(m=(8,), n=(24,), k=(64,)), SEED, "full_range")
    group.sfa[3, 2] = E4M3_NAN
    answer = output(group)
    assert answer[3].isnan().all()
    assert answer.isnan().sum() == 24
    found = compared(answer, group, official=False)
    assert found.bit_exact
    assert found.non_finite_elements == answer.numel() - answer.isfinite().sum()

    wrong = answer.clone()
    wrong[3, 5] = 0
    assert compared(wrong, group, official=False).worst == Worst(0, 3, 5, 0.0, "NaN")
    wrong = answer.clone()
    wrong[6, 1] = math.nan
    found = compared(wrong, group, official=False)
    assert found.mismatched_elements == 1
    assert (found.worst.row, found.worst.col, found.worst.got) == (6, 1, "NaN")


def test_a_wrong_nan_is_named_before_a_larger_finite_error():
    (group,) = draw(Case(m=(8,), n=(8,), k=(64,)), SEED)
    answer = output(group)
    answer[0, 0] += 1000
    answer[7, 7] = math.nan
    found = compared(answer, group)
    assert found.mismatched_elements == 2
    assert (found.worst.row, found.worst.col) == (7, 7)
    assert found.max_abs_error == pytest.approx(1000, abs=1)


def test_the_worst_element_is_the_one_farthest_outside():
    (one, two) = draw(Case(m=(8, 8), n=(8, 8), k=(64, 64)), SEED)
    answers = [output(one), output(two)]
    answers[0][2, 2] += 50
    answers[1][5, 3] -= 100
    answers[1][6, 6] += 70
    found = compare(answers, [one, two], official=True)
    assert found.mismatched_elements == 3
    assert (found.worst.group, found.worst.row, found.worst.col) == (1, 5, 3)
    assert found.worst.got == answers[1][5, 3].item()
    assert found.worst.expected == output(two)[5, 3].item()
    sentence = f"group 1, row 5, column 3: got {found.worst.got}, expected {found.worst.expected}"
    assert describe(found) == f"{sentence} (3 elements outside the bound)"


def single_output(code_a: int, scale_a: int, code_b: int, scale_b: int, k: int):
    """One output of k equal products."""
    distribution = ConstantOperands(code_a, code_b, scale_a, scale_b)
    (group,) = draw(Case(m=(1,), n=(1,), k=(k,), distribution=distribution), SEED)
    return group


def test_negative_zero_equals_zero_and_stays_bit_exact():
    group = single_output(0, 0x38, 7, 0x38, 16)
    found = compared(torch.full((1, 1), -0.0, dtype=torch.float16), group)
    assert found.bit_exact
    assert found.within_bound


def test_one_spacing_beside_the_reference_passes_and_two_do_not():
    group = single_output(7, 0x38, 7, 0x38, 32)
    assert output(group).item() == 1152
    for steps, passes in ((1, True), (2, False), (-1, True), (-2, False)):
        answer = torch.full((1, 1), 1152.0 + steps, dtype=torch.float16)
        found = compared(answer, group, official=False)
        assert found.within_bound is passes
        assert not found.bit_exact
        assert found.max_abs_error == abs(steps)


def test_official_operands_must_hold_the_published_tolerance_too():
    """Near zero a deep sum's rounding allowance is larger than 1e-3."""
    (group,) = draw(DEEP, SEED)
    answer = output(group)
    row, column = divmod(int(answer.abs().argmin()), 96)
    answer[row, column] += 0.03
    assert compared(answer, group, official=False).within_bound
    found = compared(answer, group, official=True)
    assert found.mismatched_elements == 1
    assert (found.worst.row, found.worst.col) == (row, column)


def edge_group(value: int):
    """One output of exactly `value`, whose band around 65 520 is 16.8 wide.

    Bit i of `value` is one product in block i + 1; block 0 is a pair of products of 4.1 million
    that cancel, which is what makes |A| @ |B|.T, and so the band, large.
    """
    k = 16 * 18
    (group,) = draw(Case(m=(1,), n=(1,), k=(k,)), SEED)
    one, six, minus_six, two_to = 2, 7, 15, [8 * (exponent + 7) for exponent in range(9)]
    codes = torch.zeros(1, k, dtype=torch.uint8)
    codes[0, 0], codes[0, 1] = six, minus_six
    group.b[:] = 0
    group.b[0, 0] = six << 4 | six
    group.sfa[0, 0], group.sfb[0, 0] = two_to[8], 0x7E
    for bit in range(17):
        codes[0, 16 * (bit + 1)] = one if value >> bit & 1 else 0
        group.b[0, 8 * (bit + 1)] = one
        group.sfa[0, bit + 1] = two_to[(bit + 1) // 2]
        group.sfb[0, bit + 1] = two_to[bit // 2]
    group.a[:] = pack(codes)
    return group


@pytest.mark.parametrize(
    ("value", "got", "passes"),
    [
        (65520, 65504.0, True),
        (65520, math.inf, True),
        (65520, 65472.0, True),
        (65504, math.inf, True),
        (65536, 65504.0, True),
        (65536, 65472.0, False),
        (65528, -math.inf, False),
        (65528, math.nan, False),
        (65528, 65000.0, False),
        (65500, math.inf, False),
        (65540, 65504.0, False),
        (65540, math.inf, True),
    ],
)
def test_at_the_edge_of_float16_an_honest_sum_may_round_either_way(value, got, passes):
    group = edge_group(value)
    assert reference(group).value.item() == value
    found = compared(torch.full((1, 1), got, dtype=torch.float16), group, official=False)
    assert found.within_bound is passes
    mirrored = dataclasses.replace(group, a=group.a ^ 0x88)
    found = compared(torch.full((1, 1), -got, dtype=torch.float16), mirrored, official=False)
    assert found.within_bound is passes


def test_empty_groups_compare_as_fine():
    case = Case(m=(0, 0), n=(128, 5), k=(256, 16))
    groups = draw(case, SEED)
    found = compare([output(group) for group in groups], groups, official=True)
    assert found == Comparison(0.0, 0.0, 0, 0, True, None)


def test_an_error_is_taken_where_both_sides_are_finite_and_null_where_nothing_is():
    groups = draw(Case(m=(2, 3), n=(4, 4), k=(32, 32)), SEED)
    nan = [torch.full_like(output(group), math.nan) for group in groups]
    found = compare(nan, groups, official=True)
    assert (found.max_abs_error, found.max_rel_error) == (None, None)
    assert (found.mismatched_elements, found.non_finite_elements, found.bit_exact) == (
        20,
        20,
        False,
    )
    nan[1][2, 3] = output(groups[1])[2, 3]
    found = compare(nan, groups, official=True)
    assert (found.max_abs_error, found.max_rel_error, found.mismatched_elements) == (0.0, 0.0, 19)


def test_an_output_of_another_shape_is_refused():
    (group,) = draw(Case(m=(4,), n=(8,), k=(16,)), SEED)
    with pytest.raises(ValueError, match=r"output of group 0 must be \[4, 8\], got \[4, 1\]"):
        compared(torch.zeros(4, 1, dtype=torch.float16), group)


FINE = Comparison(0.5, 1e-4, 0, 3, True, None)
WRONG = Comparison(2.0, 1e-5, 7, 1, False, Worst(0, 1, 2, 3.0, "NaN"))
NOTHING = Comparison(None, None, 4, 4, False, Worst(0, 0, 0, "NaN", 1.0))
WORSE = Comparison(9.0, 0.0, 1, 0, False, Worst(4, 5, 6, 7.0, 8.0))


def test_calls_of_a_case_merge_into_one_comparison():
    assert merge([FINE, WRONG, WORSE]) == Comparison(9.0, 1e-4, 8, 4, False, WRONG.worst)
    assert merge([NOTHING, WORSE]) == Comparison(9.0, 0.0, 5, 4, False, NOTHING.worst)
    assert merge([NOTHING, NOTHING]).max_abs_error is None
    assert merge([FINE, FINE]).bit_exact
    assert merge([FINE, WORSE], bit_exact=True).bit_exact
    assert not merge([FINE, FINE], bit_exact=False).bit_exact


def test_a_comparison_is_one_sentence():
    assert describe(FINE) == "bit-exact"
    assert describe(dataclasses.replace(FINE, bit_exact=False)) == "within the bound"
    assert describe(WORSE) == (
        "group 4, row 5, column 6: got 7.0, expected 8.0 (1 element outside the bound)"
    )
    assert "got 3.0, expected NaN (7 elements" in describe(WRONG)
