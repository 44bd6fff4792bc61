import hashlib
import math
from dataclasses import fields

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.layout import submission_data
from kernels.nvfp4 import E4M3_LARGEST, E4M3_NAN, E4M3_ONE, unpack
from kernels.operands import GroupOperands, draw
from kernels.problem import Case, ConstantOperands
from kernels.problems import NVFP4_GROUP_GEMM
from kernels.reference import output
from kernels.scale_layout import from_blocked, to_blocked
from tests.strategies import cases, seeds

SEED = 0x0123456789ABCDEF_FEDCBA9876543210
SMALL = Case(m=(3, 0, 130), n=(128, 5, 65), k=(16, 64, 272))
TENSORS = ("a", "b", "sfa", "sfb", "sfa_blocked", "sfb_blocked")


def digest(groups) -> str:
    whole = hashlib.sha256()
    for group in groups:
        for name in TENSORS:
            whole.update(getattr(group, name).numpy().tobytes())
    return whole.hexdigest()


def padding_rows(blocked: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    return from_blocked(blocked, blocked.shape[0] * 128, columns)[rows:]


@pytest.mark.parametrize(
    ("distribution", "expected"),
    [
        ("official", "54065d4c6355353d30bc3ffc56bfed755c5883b644421b0c6057222e3048ccb3"),
        ("full_range", "02c5916fcf7483d421148b2b39b049e49591925d1720313a43abbcc1c1fa8aae"),
        (
            ConstantOperands(7, (1, 2, 15), 0x38, 0x7F),
            "86a3011272e71ee0082b46631beee791afc2b5f9e275088cf9ed636de3c8ff39",
        ),
    ],
)
def test_a_seed_gives_these_very_bytes_on_any_machine(distribution, expected):
    assert digest(draw(SMALL, SEED, distribution)) == expected


@given(case=cases(), seed=seeds)
@settings(max_examples=25, deadline=None)
def test_the_same_seed_draws_the_same_bytes(case, seed):
    assert digest(draw(case, seed)) == digest(draw(case, seed))


@given(
    seed=seeds, bit=st.integers(0, 127), distribution=st.sampled_from(["official", "full_range"])
)
@settings(max_examples=25, deadline=None)
def test_every_bit_of_the_seed_changes_every_tensor(seed, bit, distribution):
    case = Case(m=(64,), n=(64,), k=(256,))
    (one,), (other,) = draw(case, seed, distribution), draw(case, seed ^ 1 << bit, distribution)
    assert all(not torch.equal(getattr(one, name), getattr(other, name)) for name in TENSORS)


def test_groups_and_operands_are_drawn_independently():
    case = Case(m=(64, 64), n=(64, 64), k=(256, 256))
    first, second = draw(case, SEED)
    drawn = [first.a, first.b, second.a, second.b]
    assert len({tensor.numpy().tobytes() for tensor in drawn}) == 4
    scales = [first.sfa, first.sfb, second.sfa, second.sfb]
    assert len({tensor.numpy().tobytes() for tensor in scales}) == 4


def test_the_given_distribution_goes_before_the_cases_own():
    case = Case(m=(64,), n=(64,), k=(256,), distribution="full_range")
    official = Case(m=(64,), n=(64,), k=(256,))
    assert digest(draw(case, SEED, "official")) == digest(draw(official, SEED))


@given(case=cases(), seed=seeds)
@settings(max_examples=25, deadline=None)
def test_shapes_layouts_and_padding_are_as_promised(case, seed):
    for shape, group in zip(case.groups, draw(case, seed), strict=True):
        m, n, k = shape
        assert group.shape == shape
        assert all(getattr(group, name).dtype == torch.uint8 for name in TENSORS)
        assert all(getattr(group, name).is_contiguous() for name in TENSORS)
        for rows, linear, blocked in (
            (m, group.sfa, group.sfa_blocked),
            (n, group.sfb, group.sfb_blocked),
        ):
            assert linear.shape == (rows, k // 16)
            assert blocked.shape == (-(-rows // 128), -(-k // 64), 32, 4, 4)
            assert torch.equal(from_blocked(blocked, rows, k // 16), linear)
            columns = from_blocked(blocked, blocked.shape[0] * 128, blocked.shape[1] * 4)
            assert not columns[:, k // 16 :].any()
            padding = padding_rows(blocked, rows, k // 16)
            limit = E4M3_NAN if case.poison_padding else E4M3_LARGEST
            assert (padding <= limit).all()
            assert (padding == E4M3_NAN).all() or not case.poison_padding


def test_row_padding_is_random_valid_scales():
    (group,) = draw(Case(m=(1,), n=(1,), k=(4096,)), SEED)
    padding = padding_rows(group.sfa_blocked, 1, 256)
    assert set(padding.unique().tolist()) == {E4M3_ONE, E4M3_ONE + 8}


@given(seed=seeds)
@settings(max_examples=5, deadline=None)
def test_official_operands_have_the_competitions_codes_and_scales(seed):
    (group,) = draw(Case(m=(128,), n=(256,), k=(512,)), seed)
    for packed, scales in ((group.a, group.sfa), (group.b, group.sfb)):
        assert set(unpack(packed).unique().tolist()) == {0, 1, 2, 3, 8, 9, 10, 11}
        assert set(scales.unique().tolist()) == {0x38, 0x40}


@given(
    seed=seeds,
    m=st.integers(128, 200),
    k=st.sampled_from([1024, 2048, 4096, 7168, 16384]),
)
@settings(max_examples=10, deadline=None)
def test_full_range_visits_every_code_and_every_finite_scale_of_both_operands(seed, m, k):
    (group,) = draw(Case(m=(m,), n=(128,), k=(k,), distribution="full_range"), seed)
    for packed, scales in ((group.a, group.sfa), (group.b, group.sfb)):
        assert unpack(packed).unique().tolist() == list(range(16))
        assert scales.unique().tolist() == list(range(0x7F))


@pytest.mark.parametrize("case", NVFP4_GROUP_GEMM.tests)
def test_full_range_visits_everything_in_every_official_test_case(case):
    groups = draw(case, SEED, "full_range")
    for packed in ("a", "b"):
        seen = torch.cat([unpack(getattr(group, packed)).flatten() for group in groups])
        assert seen.unique().tolist() == list(range(16))
    scales = [scale.flatten() for group in groups for scale in (group.sfa, group.sfb)]
    assert torch.cat(scales).unique().tolist() == list(range(0x7F))


@pytest.mark.parametrize("k", [16, 32, 48, 64, 208, 256, 272, 1536, 2048, 4096, 7168, 16384, 65536])
def test_full_range_keeps_nine_of_ten_outputs_finite_and_overflows_a_few(k):
    (group,) = draw(Case(m=(160,), n=(256,), k=(k,), distribution="full_range"), SEED + k)
    finite = output(group).isfinite().float().mean().item()
    assert 0.9 <= finite < 1


@given(seed=seeds, m=st.integers(1, 200), n=st.integers(64, 256), blocks=st.integers(1, 64))
@settings(max_examples=30, deadline=None)
def test_full_range_keeps_nine_of_ten_outputs_finite_at_any_shape(seed, m, n, blocks):
    case = Case(m=(m,) * 8, n=(n,) * 8, k=(blocks * 16,) * 8, distribution="full_range")
    finite = [output(group).isfinite().float().mean().item() for group in draw(case, seed)]
    assert sum(finite) / len(finite) >= 0.9


def test_loud_rows_meet_quiet_rows_and_stay_finite():
    (group,) = draw(Case(m=(64,), n=(64,), k=(7168,), distribution="full_range"), SEED)
    answer = output(group)
    loud, quiet = 63, slice(7, None, 16)
    assert group.sfa[loud].min() >= 0x6F
    assert group.sfb[quiet].max() <= 0x0F
    assert answer[loud, quiet].isfinite().all()
    assert answer[quiet, loud].isfinite().all()
    assert answer[loud].isinf().any()


def test_constant_operands_may_differ_by_group():
    distribution = ConstantOperands(a_code=7, b_code=(7, 15), a_scale=(0x38, 0x40), b_scale=0x01)
    case = Case(m=(2, 3), n=(4, 5), k=(16, 32), distribution=distribution)
    first, second = draw(case, SEED)
    assert first.a.unique().tolist() == [0x77]
    assert first.b.unique().tolist() == [0x77]
    assert second.b.unique().tolist() == [0xFF]
    assert [group.sfa.unique().tolist() for group in (first, second)] == [[0x38], [0x40]]
    assert second.sfb_blocked[:, :, :, :, :2].unique().tolist() == [0x01]


@given(case=cases(), seed=seeds)
@settings(max_examples=15, deadline=None)
def test_a_submission_sees_views_with_the_competitions_shapes_and_strides(case, seed):
    groups = draw(case, seed)
    outputs = [torch.zeros(m, n, dtype=torch.float16) for m, n, _ in case.groups]
    abc, sf, sf_reordered, sizes = submission_data(groups, outputs)
    assert sizes == [(m, n, k, 1) for m, n, k in case.groups]
    assert len(abc) == len(sf) == len(sf_reordered) == len(groups)
    for (m, n, k), (a, b, c) in zip(case.groups, abc, strict=True):
        assert describe(a) == layout(
            torch.float4_e2m1fn_x2, (m, k // 2, 1), (k // 2, 1, m * k // 2)
        )
        assert describe(b) == layout(
            torch.float4_e2m1fn_x2, (n, k // 2, 1), (k // 2, 1, n * k // 2)
        )
        assert describe(c) == layout(torch.float16, (m, n, 1), (n, 1, m * n))
    for (m, n, k), linear, reordered in zip(case.groups, sf, sf_reordered, strict=True):
        for rows, scales, tiles in zip((m, n), linear, reordered, strict=True):
            columns, across, down = k // 16, -(-k // 64), -(-rows // 128)
            assert describe(scales) == layout(
                torch.float8_e4m3fn,
                (rows, columns, 1),
                (columns, 1, rows * columns),
            )
            assert describe(tiles) == layout(
                torch.float8_e4m3fn,
                (32, 4, down, 4, across, 1),
                (16, 4, 512 * across, 1, 512, 512 * across * down),
            )
            assert scales.device.type == "cpu"


def layout(dtype: torch.dtype, shape: tuple[int, ...], strides: tuple[int, ...]):
    return dtype, shape, strides if math.prod(shape) else None


def describe(tensor: torch.Tensor):
    """Strides of empty tensors mean nothing."""
    return tensor.dtype, tuple(tensor.shape), tensor.stride() if tensor.numel() else None


def test_a_submissions_tensors_share_memory_with_the_operands():
    case = Case(m=(130,), n=(7,), k=(80,))
    (group,), result = draw(case, SEED), torch.zeros(130, 7, dtype=torch.float16)
    abc, sf, sf_reordered, _ = submission_data([group], [result])
    views = [*abc[0], *sf[0], *sf_reordered[0]]
    owners = [group.a, group.b, result, group.sfa, group.sfb, group.sfa_blocked, group.sfb_blocked]
    assert [view.data_ptr() for view in views] == [owner.data_ptr() for owner in owners]


def test_a_reordered_scale_is_found_where_the_competition_puts_it():
    (group,) = draw(Case(m=(300,), n=(1,), k=(208,), distribution="full_range"), SEED)
    _, _, ((tiles, _),), _ = submission_data([group], [torch.zeros(300, 1, dtype=torch.float16)])
    tiles = tiles.view(torch.uint8)
    for i in range(300):
        for j in range(13):
            place = (i % 32, i % 128 // 32, i // 128, j % 4, j // 4, 0)
            assert tiles[place] == group.sfa[i, j]


def test_operands_can_be_built_from_views_of_one_shared_buffer():
    (group,) = draw(Case(m=(33,), n=(9,), k=(48,)), SEED)
    arena = torch.cat([getattr(group, name).flatten() for name in TENSORS])
    views, first = [], 0
    for name in TENSORS:
        tensor = getattr(group, name)
        views.append(arena[first : first + tensor.numel()].view(tensor.shape))
        first += tensor.numel()
    shared = GroupOperands(*views)
    assert shared.shape == group.shape
    assert torch.equal(output(shared), output(group))
    assert torch.equal(shared.sfa_blocked, to_blocked_with_padding_of(group))


def to_blocked_with_padding_of(group: GroupOperands) -> torch.Tensor:
    m, _, k = group.shape
    padding = padding_rows(group.sfa_blocked, m, k // 16)
    return to_blocked(torch.cat((group.sfa, padding)))


def test_operands_go_to_a_device_as_a_whole() -> None:
    (group,) = draw(Case((8,), (8,), (32,)), seed=1)
    moved = group.to("meta")
    assert moved.shape == group.shape
    assert {getattr(moved, field.name).device.type for field in fields(moved)} == {"meta"}
