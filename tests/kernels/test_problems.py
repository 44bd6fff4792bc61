"""Facts of each problem, and what holds for all of them."""

import math

import pytest
import torch

from kernels.layout import Layout, fill, handed_over, taken_back
from kernels.nvfp4 import E4M3_NAN, decode_e2m1, decode_e4m3, unpack
from kernels.operands import draw
from kernels.problem import Case, ConstantOperands
from kernels.problems import NVFP4_DUAL_GEMM, NVFP4_GEMM, NVFP4_GEMV, NVFP4_GROUP_GEMM, PROBLEMS
from kernels.reference import output
from kernels.scale_layout import from_blocked

SEED = 0x0123456789ABCDEF_FEDCBA9876543210
SINGLE = (NVFP4_GEMM, NVFP4_DUAL_GEMM, NVFP4_GEMV)
OFFICIAL = {
    # m, n, k as the competition writes them
    NVFP4_GEMM.name: (
        """128 256 256, 128 1536 7168, 128 3072 1536, 256 7168 256, 256 7168 2048,
        2304 4608 7168, 384 7168 2304, 512 512 7168, 512 4096 512, 512 1536 7168""",
        "128 7168 16384, 128 4096 7168, 128 7168 2048",
    ),
    NVFP4_DUAL_GEMM.name: (
        """1536 512 7168, 256 512 256, 1536 512 7168, 3072 1024 1536, 7168 1024 256,
        7168 2304 2048, 4608 384 7168, 7168 384 2304, 512 768 7168, 4096 768 512""",
        "256 4096 7168, 512 4096 7168, 256 3072 4096, 512 3072 7168",
    ),
    # m, k, l
    NVFP4_GEMV.name: (
        """128 256 1, 128 1536 1, 128 3072 1, 256 7168 1, 256 7168 1,
        2432 4608 2, 384 7168 2, 512 512 2, 512 4096 2, 512 1536 2""",
        "7168 16384 1, 4096 7168 8, 7168 2048 4",
    ),
}
SMALL = {
    NVFP4_GROUP_GEMM.name: Case((3, 0, 130), (128, 5, 65), (16, 64, 272)),
    NVFP4_GEMM.name: Case((130,), (65,), (272,), l=3),
    NVFP4_DUAL_GEMM.name: Case((130,), (65,), (272,), l=3),
    NVFP4_GEMV.name: Case((130,), (1,), (272,), l=3),
}
EACH = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=lambda problem: problem.name)
EACH_SINGLE = pytest.mark.parametrize("problem", SINGLE, ids=lambda problem: problem.name)


def memory(shape: tuple[int, ...]) -> torch.Tensor:
    return torch.empty(shape, dtype=torch.uint8)


def tensors_of(problem, case, distribution=None):
    layout = Layout.of(problem, case)
    groups = [layout.tensors(shape, memory, memory) for shape in case.groups]
    fill(groups, draw(case, SEED, distribution, problem))
    return groups


@EACH_SINGLE
def test_official_cases_are_those_of_the_competition(problem) -> None:
    for cases, written in zip(
        (problem.tests, problem.benchmarks), OFFICIAL[problem.name], strict=True
    ):
        sizes = [tuple(map(int, line.split())) for line in written.split(",")]
        if problem.vector:
            assert [(case.m[0], case.k[0], case.l) for case in cases] == sizes
        else:
            assert [(*case.groups[0], case.l) for case in cases] == [(*each, 1) for each in sizes]


@EACH
def test_official_cases_are_legal_and_of_the_official_distribution(problem) -> None:
    for case in (*problem.tests, *problem.benchmarks):
        problem.check(case)
        assert (case.seed, case.distribution, case.poison_padding) == (None, "official", False)
        assert problem.operand_bytes(case) <= 1 << 30


@pytest.mark.parametrize(
    ("problem", "case", "words"),
    [
        (NVFP4_GROUP_GEMM, Case((8,), (8,), (16,), l=2), "l must be 1: nvfp4_group_gemm has gro"),
        (NVFP4_GEMM, Case((8, 8), (8, 8), (16, 16)), "m must have one entry: nvfp4_gemm has no"),
        (NVFP4_GEMV, Case((8,), (8,), (16,)), r"n\[0\] must be 1: B of nvfp4_gemv is a vector"),
    ],
)
def test_a_case_of_another_problem_is_refused(problem, case, words) -> None:
    with pytest.raises(ValueError, match=words):
        problem.check(case)


def test_a_batch_has_an_entry_at_least() -> None:
    with pytest.raises(ValueError, match="l must be 1 or more, got 0"):
        Case((8,), (8,), (16,), l=0)


@pytest.mark.parametrize(
    ("problem", "codes", "scales"),
    [
        (NVFP4_GROUP_GEMM, {0, 1, 2, 3, 8, 9, 10, 11}, {1.0, 2.0}),
        (NVFP4_GEMM, set(range(16)), {0.0, 1.0, 2.0, 3.0}),
        (NVFP4_GEMV, {0, 1, 2, 3}, {0.0, 1.0, 2.0}),
    ],
)
def test_official_operands_have_the_competitions_codes_and_scales(problem, codes, scales) -> None:
    (product,) = draw(Case((128,), (1,), (512,)), SEED, problem=problem)
    for packed, scale in ((product.a, product.sfa), (product.b, product.sfb)):
        assert set(unpack(packed).unique().tolist()) == codes
        assert set(decode_e4m3(scale).unique().tolist()) == scales


def test_every_second_element_of_the_official_gemv_is_zero() -> None:
    (product,) = draw(Case((16,), (1,), (64,)), SEED, problem=NVFP4_GEMV)
    assert not (product.a >> 4).any()
    assert not (product.b >> 4).any()


def test_official_scales_of_the_dual_gemm_are_even_between_nought_and_one() -> None:
    gate, _ = draw(Case((256,), (256,), (4096,)), SEED, problem=NVFP4_DUAL_GEMM)
    assert set(unpack(gate.a).unique().tolist()) == {0, 1, 2, 3, 8, 9, 10, 11}
    scales = decode_e4m3(gate.sfa)
    assert scales.max() == 1.0
    assert 0 < scales.min() < 1 / 256
    assert scales.mean().item() == pytest.approx(0.5, abs=0.01)
    assert (scales < 0.25).float().mean().item() == pytest.approx(0.25, abs=0.02)


@EACH
def test_tensors_lie_as_the_competition_says(problem) -> None:
    case = SMALL[problem.name]
    groups = tensors_of(problem, case)
    data, outputs = handed_over(problem, groups)
    if problem.grouped:
        per_group = [(*abc, *sf, *tiles) for abc, sf, tiles, _ in zip(*data, strict=True)]
        per_group = [(a, b, sfa, sfb, ta, tb, c) for a, b, c, sfa, sfb, ta, tb in per_group]
        assert data[3] == [(*shape, 1) for shape in case.groups]
    else:
        per_group = [data]
    for (m, n, k), group, result in zip(case.groups, per_group, outputs, strict=True):
        rows = {"b": 128 if problem.vector else n}
        rows = [m] + [rows["b"]] * len(problem.right)
        batch, tiles = case.l, -(-k // 64)
        down = [-(-each // 128) for each in rows]
        wanted = (
            [(torch.float4_e2m1fn_x2, (r, k // 2, batch), (k // 2, 1, r * k // 2)) for r in rows]
            + [(torch.float8_e4m3fn, (r, k // 16, batch), (k // 16, 1, r * k // 16)) for r in rows]
            + [
                (
                    torch.float8_e4m3fn,
                    (32, 4, d, 4, tiles, batch),
                    (16, 4, 512 * tiles, 1, 512, 512 * tiles * d),
                )
                for d in down
            ]
            + [(torch.float16, (m, n, batch), (n, 1, m * n))]
        )
        found = [(each.dtype, tuple(each.shape), each.stride()) for each in group]
        assert [each for each in found if math.prod(each[1])] == [
            each for each in wanted if math.prod(each[1])
        ]
        assert group[-1].data_ptr() == result.data_ptr()
    sizes = [each.numel() * each.element_size() for group in per_group for each in group]
    assert sum(sizes) == problem.operand_bytes(case)


@EACH
def test_what_is_handed_over_can_be_taken_back(problem) -> None:
    groups = tensors_of(problem, SMALL[problem.name])
    data, _ = handed_over(problem, groups)
    for ours, theirs in zip(groups, taken_back(problem, data), strict=True):
        for name, tensor in ours.named(problem).items():
            assert torch.equal(theirs.named(problem)[name], tensor), name
        assert theirs.output.data_ptr() == ours.output.data_ptr()


@EACH
def test_blocked_scales_are_the_linear_ones(problem) -> None:
    for group in tensors_of(problem, SMALL[problem.name]):
        for linear, blocked in zip(group.scales, group.blocked, strict=True):
            for z in range(len(linear)):
                assert torch.equal(from_blocked(blocked[z], *linear[z].shape), linear[z])


@EACH_SINGLE
def test_entries_of_a_batch_and_right_operands_are_drawn_independently(problem) -> None:
    (group,) = tensors_of(problem, SMALL[problem.name])
    drawn = [entry.numpy().tobytes() for tensor in group.codes for entry in tensor]
    assert len(set(drawn)) == len(drawn) == 3 * len(problem.operands)


@EACH_SINGLE
def test_the_padding_of_a_poisoned_case_counts_for_nothing(problem) -> None:
    case = SMALL[problem.name]
    poisoned = Case(case.m, case.n, case.k, l=case.l, poison_padding=True)
    plain, changed = (draw(each, SEED, problem=problem) for each in (case, poisoned))
    for one, other in zip(plain, changed, strict=True):
        assert not torch.equal(one.sfb_blocked, other.sfb_blocked)
        assert (other.sfb_blocked == E4M3_NAN).any()
    each = len(problem.right)
    answers = [output(*products[:each], problem=problem) for products in (plain, changed)]
    assert torch.equal(*answers)
    assert answers[0].isfinite().all()


@pytest.mark.parametrize(
    ("problem", "case"),
    # One entry of 128 x 256 has too few blocks; the deepest take long and are no different.
    [(one, case) for one in SINGLE for case in one.tests if case.m[0] * case.k[0] >= 256 * 256],
    ids=lambda value: getattr(value, "name", None),
)
def test_full_range_visits_every_code_and_finite_scale_of_official_cases(problem, case) -> None:
    if case.k[0] > 4096:
        case = Case((min(case.m[0], 512),), (min(case.n[0], 512),), (4096,), l=case.l)
    codes, scales = set(), set()
    for product in draw(case, SEED, "full_range", problem):
        rows = 1 if problem.vector else None
        for packed, scale in ((product.a, product.sfa), (product.b[:rows], product.sfb[:rows])):
            codes |= set(unpack(packed).unique().tolist())
            scales |= set(scale.unique().tolist())
    assert codes == set(range(16))
    assert scales == set(range(0x7F))


@EACH_SINGLE
@pytest.mark.parametrize("k", [256, 2048])
def test_full_range_keeps_nine_of_ten_outputs_finite_and_overflows_a_few(problem, k) -> None:
    case = Case((192,), (1 if problem.vector else 192,), (k,), l=8 if problem.vector else 1)
    products = draw(case, SEED, "full_range", problem)
    each = len(problem.right)
    outputs = [
        output(*products[first : first + each], problem=problem)
        for first in range(0, len(products), each)
    ]
    finite = torch.stack(outputs).isfinite().float().mean().item()
    assert 0.9 <= finite < 1


@pytest.mark.parametrize("k", [16, 64, 1536, 7168, 16384, 65536])
def test_full_range_of_the_dual_gemm_stays_finite_at_any_depth(k) -> None:
    case = Case((96,), (96,), (k,), distribution="full_range")
    products = draw(case, SEED + k, problem=NVFP4_DUAL_GEMM)
    answer = output(*products, problem=NVFP4_DUAL_GEMM)
    assert answer.isfinite().float().mean() >= 0.9
    assert (answer.abs() > 1e-3).float().mean() > 0.3


def test_constants_of_b_hold_for_every_right_operand() -> None:
    distribution = ConstantOperands(a_code=1, b_code=7, a_scale=0x38, b_scale=0x40)
    case = Case((4,), (5,), (32,), distribution=distribution)
    gate, up = draw(case, SEED, problem=NVFP4_DUAL_GEMM)
    for product in (gate, up):
        assert decode_e2m1(product.b).unique().tolist() == [6.0]
        assert decode_e4m3(product.sfb).unique().tolist() == [2.0]
