"""Hypothesis strategies: group shapes, cases, seeds."""

from hypothesis import strategies as st

from kernels.problem import BLOCK_ELEMENTS, SEED_BITS, Case, ConstantOperands

MAX_ROWS = 150
MAX_BLOCKS = 12

seeds = st.integers(0, (1 << SEED_BITS) - 1)
named_distributions = st.sampled_from(["official", "full_range"])
codes = st.integers(0, 15)
finite_scale_bytes = st.integers(0, 0x7E)


@st.composite
def constant_operands(draw, groups: int) -> ConstantOperands:
    """One value for all groups or one a group."""

    def per_group(values):
        return st.one_of(values, st.tuples(*[values] * groups))

    return ConstantOperands(
        a_code=draw(per_group(codes)),
        b_code=draw(per_group(codes)),
        a_scale=draw(per_group(finite_scale_bytes)),
        b_scale=draw(per_group(finite_scale_bytes)),
    )


@st.composite
def cases(draw, max_groups: int = 4) -> Case:
    """Small legal cases with empty groups, odd rows and all kinds of distributions."""
    groups = draw(st.integers(1, max_groups))

    def a_group(values):
        return draw(st.tuples(*[values] * groups))

    return Case(
        m=a_group(st.integers(0, MAX_ROWS)),
        n=a_group(st.integers(1, MAX_ROWS)),
        k=a_group(st.integers(1, MAX_BLOCKS).map(lambda blocks: blocks * BLOCK_ELEMENTS)),
        distribution=draw(st.one_of(named_distributions, constant_operands(groups))),
        poison_padding=draw(st.booleans()),
    )
