"""Outputs against the reference, element by element, within a bound that catches real faults.

An output passes where

    |got - ref| <= ulp16(ref) + 2 * sqrt(k) * 2^-24 * (|A| @ |B|.T)

with `ref` in float64 and ulp16 the float16 spacing there: one rounding to float16, and the rounding
of an honest float32 sum in any order. The worst case of such a sum grows with k, not sqrt(k), but
that bound would let one missing element of 7168 pass. An epilogue carries the second term on: see
`Wanted`.

NaN and infinity are values: right where the rounded reference has them, wrong elsewhere. Where
||ref| - 65 520| is within the second term, an honest sum may round either way: infinity of the same
sign passes there, and so does a finite output within the bound, which 65 504 always is. On official
data the published tolerance (rtol = atol = 1e-3 from the rounded reference) must hold as well,
where its sums are exact in float32: elsewhere sums that a tensor core truncates could miss it near
zero (reasoned, not measured).
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from kernels.measurement import Comparison, Worst, number
from kernels.operands import GroupOperands, for_reference
from kernels.problem import Problem
from kernels.problems import NVFP4_GROUP_GEMM
from kernels.reference import Wanted, round_to_float16, ulp16, wanted_blocks

PUBLISHED_TOLERANCE = 1e-3
_OVERFLOW = 65520.0
"""Halfway between the largest float16 and the next step: from here a value rounds to infinity."""
_SMALLEST_NORMAL = 2.0**-14
_NO_ERROR = -1.0
"""Stands where an element has none, since NaN or infinity is on one side."""


def compare(
    outputs: Sequence[Tensor],
    operands: Sequence[GroupOperands],
    *,
    official: bool,
    problem: Problem = NVFP4_GROUP_GEMM,
) -> Comparison:
    """Compare float16 [m, n] of every output with the reference, computed now on the same device.

    `operands` are the products of the outputs in order. `official` says whether they are drawn from
    the competition's distribution.

    Raises:
        ValueError: an output has the wrong shape, or there are too few for the products.

    """
    each = len(problem.right)
    if len(outputs) * each != len(operands):
        raise ValueError(f"{len(operands)} products make {len(operands) // each} outputs")
    tolerated = official and problem.official.exact
    blocks = [
        block
        for index, got in enumerate(outputs)
        for block in _blocks_of(
            index, got, problem, operands[index * each : (index + 1) * each], tolerated
        )
    ]
    return Comparison(
        max_abs_error=_largest(block.max_abs_error for block in blocks),
        max_rel_error=_largest(block.max_rel_error for block in blocks),
        mismatched_elements=sum(block.mismatched_elements for block in blocks),
        non_finite_elements=sum(block.non_finite_elements for block in blocks),
        bit_exact=all(block.bit_exact for block in blocks),
        worst=max(blocks, key=lambda block: block.distance).worst if blocks else None,
    )


def merge(comparisons: Sequence[Comparison], bit_exact: bool | None = None) -> Comparison:
    """Return what several calls of one case found; `worst` is that of the first failing call.

    `bit_exact` is true where every call was, unless it is given.
    """
    return Comparison(
        max_abs_error=_largest(one.max_abs_error for one in comparisons),
        max_rel_error=_largest(one.max_rel_error for one in comparisons),
        mismatched_elements=sum(one.mismatched_elements for one in comparisons),
        non_finite_elements=sum(one.non_finite_elements for one in comparisons),
        bit_exact=all(one.bit_exact for one in comparisons) if bit_exact is None else bit_exact,
        worst=next((one.worst for one in comparisons if one.worst is not None), None),
    )


def describe(comparison: Comparison) -> str:
    """Return one sentence for people: where the worst element is, and how many are wrong."""
    worst = comparison.worst
    if worst is None:
        return "bit-exact" if comparison.bit_exact else "within the bound"
    count = comparison.mismatched_elements
    return (
        f"group {worst.group}, row {worst.row}, column {worst.col}: "
        f"got {worst.got}, expected {worst.expected} "
        f"({count} element{'' if count == 1 else 's'} outside the bound)"
    )


def _largest(errors: Iterable[float | None]) -> float | None:
    """Return the largest error that could be taken; None where there are some, and none could."""
    each = tuple(errors)
    return max((error for error in each if error is not None), default=None if each else 0.0)


class _Block(NamedTuple):
    """What was found in some rows of a group."""

    max_abs_error: float | None
    max_rel_error: float | None
    mismatched_elements: int
    non_finite_elements: int
    bit_exact: bool
    distance: float
    """How far `worst` is outside the bound; infinite where NaN or infinity is at fault."""
    worst: Worst | None


def _blocks_of(
    index: int,
    got: Tensor,
    problem: Problem,
    products: Sequence[GroupOperands],
    tolerated: bool,
) -> Iterator[_Block]:
    m, n, _ = for_reference(problem, products[0]).shape
    if got.shape != (m, n):
        raise ValueError(f"output of group {index} must be {[m, n]}, got {list(got.shape)}")
    for rows, block in wanted_blocks(problem, products):
        yield _found(got[rows], block, (index, rows.start), tolerated)


def _found(got: Tensor, wanted: Wanted, place: tuple[int, int], tolerated: bool) -> _Block:
    """Compare some rows; `place` is their group and first row."""
    expected = round_to_float16(wanted.value)
    same = (got == expected) | (got.isnan() & expected.isnan())
    finite = got.isfinite() & expected.isfinite()
    error = (got.double() - wanted.value).abs()
    distance = _distance(got, expected, error, wanted, tolerated)
    distance = distance.where(~same, -math.inf)
    far = int(distance.argmax())
    # Shown is the error against the rounded reference: nought where an output is bit-exact.
    seen = (got.double() - expected.double()).abs().where(finite, _NO_ERROR)
    relative = seen / wanted.value.abs().clamp(min=_SMALLEST_NORMAL)
    figures = torch.stack(
        (
            seen.max(),
            relative.where(finite, _NO_ERROR).max(),
            (distance > 0).sum(),
            got.numel() - got.isfinite().sum(),
            same.all(),
            distance.flatten()[far],
            got.flatten()[far],
            expected.flatten()[far],
        )
    ).tolist()
    largest, largest_relative, wrong, non_finite, exact, outside, worst_got, worst_expected = (
        figures
    )
    row, column = divmod(far, got.shape[1])
    worst = Worst(place[0], place[1] + row, column, number(worst_got), number(worst_expected))
    return _Block(
        max_abs_error=None if largest == _NO_ERROR else largest,
        max_rel_error=None if largest_relative == _NO_ERROR else largest_relative,
        mismatched_elements=int(wrong),
        non_finite_elements=int(non_finite),
        bit_exact=bool(exact),
        distance=outside,
        worst=worst if wrong else None,
    )


def _distance(
    got: Tensor, expected: Tensor, error: Tensor, wanted: Wanted, tolerated: bool
) -> Tensor:
    """Return how far outside the bound elements are: 0 or less passes, non-finite is infinite."""
    distance = error - (ulp16(wanted.value) + wanted.rounding)
    either_way = (wanted.value.abs() - _OVERFLOW).abs() <= wanted.rounding
    comparable = got.isfinite() & (expected.isfinite() | either_way)
    infinite = got.isinf() & (got.signbit() == wanted.value.signbit())
    distance = distance.where(comparable, math.inf).where(~(either_way & infinite), -math.inf)
    if tolerated:
        published = PUBLISHED_TOLERANCE + PUBLISHED_TOLERANCE * expected.double().abs()
        outside = (got.double() - expected.double()).abs() - published
        distance = distance.maximum(outside.nan_to_num(nan=math.inf))
    return distance
