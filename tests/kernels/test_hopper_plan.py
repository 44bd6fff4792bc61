from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.hopper_costs import chunk_ns
from kernels.hopper_plan import (
    CHUNK,
    ROWS,
    UNIT,
    WIDTH_SETS,
    Item,
    Plan,
    candidates,
    cut_rows,
    make_plan,
)
from kernels.problem import GroupShape
from kernels.problems import NVFP4_GROUP_GEMM

shapes = st.lists(
    st.builds(
        GroupShape,
        st.integers(1, 700),
        st.integers(1, 900),
        st.integers(1, 60).map(lambda blocks: blocks * 32),
    ),
    min_size=1,
    max_size=5,
)


def chunks_of(plan: Plan, groups: list[GroupShape]) -> Counter[tuple[int, int, int, int]]:
    """How often each chunk of each tile is computed."""
    return Counter(
        (item.group, item.row_tile, item.column_tile, chunk)
        for block in plan.blocks
        for item in block
        for chunk in range(item.first_chunk, item.last_chunk)
    )


def wanted_chunks(plan: Plan, groups: list[GroupShape]) -> Counter[tuple[int, int, int, int]]:
    return Counter(
        (group, row_tile, column_tile, chunk)
        for group, (shape, tiling) in enumerate(zip(groups, plan.tilings, strict=True))
        for row_tile in range(tiling.tiles)
        for column_tile in range(-(-shape.n // ROWS))
        for chunk in range(-(-shape.k // CHUNK))
    )


def last_chunk(item: Item, groups: list[GroupShape]) -> int:
    return -(-groups[item.group].k // CHUNK)


@settings(max_examples=30, deadline=None)
@given(shapes, st.integers(1, 140))
def test_every_chunk_of_every_tile_is_computed_once(groups: list[GroupShape], blocks: int) -> None:
    for plan in candidates(groups, blocks):
        assert chunks_of(plan, groups) == wanted_chunks(plan, groups)
        assert len(plan.blocks) <= blocks
        assert all(plan.blocks)


@settings(max_examples=30, deadline=None)
@given(shapes, st.integers(1, 140))
def test_tiles_cover_all_rows_with_widths_of_one_set(groups: list[GroupShape], blocks: int) -> None:
    for plan in candidates(groups, blocks):
        assert plan.widths in WIDTH_SETS
        for shape, tiling in zip(groups, plan.tilings, strict=True):
            assert tiling.rows % UNIT == 0
            assert tiling.rows <= tiling.width
            assert tiling.width in plan.widths
            assert (tiling.tiles - 1) * tiling.rows < shape.m <= tiling.tiles * tiling.rows


@settings(max_examples=30, deadline=None)
@given(shapes, st.integers(1, 140))
def test_sums_go_to_the_block_that_collects_them_and_only_from_blocks_before_it(
    groups: list[GroupShape], blocks: int
) -> None:
    for plan in candidates(groups, blocks):
        for index, block in enumerate(plan.blocks):
            for place, item in enumerate(block):
                finishes = item.last_chunk == last_chunk(item, groups)
                # What a block leaves comes first, what it collects last: nobody waits in a circle.
                assert finishes or place == 0
                assert not item.sharers or place == len(block) - 1
                parts = [plan.blocks[index - back][0] for back in range(item.sharers, 0, -1)]
                chunks = [(part.first_chunk, part.last_chunk) for part in [*parts, item]]
                assert all(part[:3] == item[:3] for part in parts)
                assert all(end == start for (_, end), (start, _) in pairwise(chunks))
                assert not finishes or chunks[0][0] == 0


def test_the_plan_is_the_fastest_of_the_candidates() -> None:
    for case in NVFP4_GROUP_GEMM.benchmarks:
        fastest_ns = min(plan.predicted_ns for plan in candidates(case.groups, 132))
        assert make_plan(case.groups, 132).predicted_ns == fastest_ns


def test_tiles_are_cut_where_whole_ones_would_leave_most_blocks_idle() -> None:
    plan = make_plan([GroupShape(64, 128, 16384)], 132)
    assert plan.cuts > 4
    whole = [one for one in candidates([GroupShape(64, 128, 16384)], 132) if not one.cuts]
    assert plan.predicted_ns < min(one.predicted_ns for one in whole) / 2


def test_the_official_cases_keep_every_block_of_an_h200_busy() -> None:
    for case in NVFP4_GROUP_GEMM.benchmarks:
        plan = make_plan(case.groups, 132)
        assert len(plan.blocks) >= 120


def test_a_group_is_cut_into_equal_tiles_that_are_rounded_up_to_a_width() -> None:
    assert cut_rows(320, (96, 112), 112) == (112, 112, 3)
    assert cut_rows(384, (128,), 128) == (128, 128, 3)
    assert cut_rows(1, (48, 80), 80) == (16, 48, 1)


def test_wider_tiles_cost_more() -> None:
    costs = [chunk_ns(width) for width in range(UNIT, 257, UNIT)]
    assert costs == sorted(costs)
    with pytest.raises(ValueError, match="no tile is 272 wide"):
        chunk_ns(272)
