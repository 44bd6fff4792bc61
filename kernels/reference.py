"""The reference: the slow, right answer in float64, of a product and of what is made of it.

Elements are multiples of 2^-10, so products are multiples of 2^-20 and a float64 sum is exact in
any order while its magnitude stays below 2^33: every output that float16 can hold, but for absurd
cancellation. The reference is therefore the same on every machine; an epilogue that takes an
exponential may differ in the last of 53 bits.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import NamedTuple

import torch
from torch import Tensor

from kernels.nvfp4 import dequantize
from kernels.operands import GroupOperands, for_reference
from kernels.problem import Problem
from kernels.problems import NVFP4_GROUP_GEMM

_BLOCK_ELEMENTS = 1 << 22
"""Float64 elements of one intermediate: 32 MiB, which an allocator still reuses."""
_SMALLEST_NORMAL, _HIGHEST_BINADE = 2.0**-14, 2.0**15
_MANTISSA_BITS = 10


class Reference(NamedTuple):
    """A product, float64 [m, n] each."""

    value: Tensor
    magnitude: Tensor
    """|A| @ |B|.T: what the rounding error of a sum is proportional to."""


class Wanted(NamedTuple):
    """An output, float64 [m, n] each."""

    value: Tensor
    rounding: Tensor
    """How far off honest float32 may be, before the one rounding to float16."""


def wanted_blocks(
    problem: Problem, products: Sequence[GroupOperands]
) -> Iterator[tuple[slice, Wanted]]:
    """Yield the output that is made of these products, in blocks of whole rows."""
    combine = _epilogue(problem)
    spread = 2 * math.sqrt(products[0].shape.k) * 2.0**-24
    counting = [for_reference(problem, product) for product in products]
    for blocks in zip(*map(reference_blocks, counting), strict=True):
        sums = [Wanted(block.value, spread * block.magnitude) for _, block in blocks]
        yield blocks[0][0], combine(*sums)


def _epilogue(problem: Problem) -> Callable[..., Wanted]:
    if problem.epilogue is None:
        return lambda product: product
    combine: Callable[..., Wanted] = import_module(problem.epilogue).combine
    return combine


def reference_blocks(group: GroupOperands) -> Iterator[tuple[slice, Reference]]:
    """Yield the reference in blocks of whole rows, so that a few hundred MiB suffice."""
    m, n, k = group.shape
    step = max(1, _BLOCK_ELEMENTS // max(n, k))
    for first in range(0, m, step):
        rows = slice(first, min(first + step, m))
        yield rows, _reference_of(group, rows)


def reference(group: GroupOperands) -> Reference:
    """Return the whole reference on the device of the operands."""
    m, n, _ = group.shape
    whole = Reference(
        *(torch.empty(m, n, dtype=torch.float64, device=group.a.device) for _ in range(2))
    )
    for rows, block in reference_blocks(group):
        whole.value[rows], whole.magnitude[rows] = block
    return whole


def output(*products: GroupOperands, problem: Problem = NVFP4_GROUP_GEMM) -> Tensor:
    """Return the correctly rounded output that is made of these products, float16 [m, n]."""
    m, n, _ = for_reference(problem, products[0]).shape
    answer = torch.empty(m, n, dtype=torch.float16, device=products[0].a.device)
    for rows, block in wanted_blocks(problem, products):
        answer[rows] = round_to_float16(block.value)
    return answer


def ulp16(value: Tensor) -> Tensor:
    """Return the float16 spacing at float64 `value`: 2^-24 below 2^-14, 32 from 32 768 up."""
    inside = value.abs().clamp(_SMALLEST_NORMAL, _HIGHEST_BINADE)
    # Divided by its fraction in [0.5, 1), a number leaves a power of two, exactly, on any device.
    return inside / torch.frexp(inside).mantissa * 2.0 ** -(_MANTISSA_BITS + 1)


def round_to_float16(value: Tensor) -> Tensor:
    """Return float64 `value` rounded once, to nearest even; 65 520 and above become infinite.

    A plain conversion goes through float32 and rounds twice.
    """
    spacing = ulp16(value)
    return ((value / spacing).round() * spacing).to(torch.float16)


def _reference_of(group: GroupOperands, rows: slice) -> Reference:
    _, n, k = group.shape
    a = dequantize(group.a[rows], group.sfa[rows])
    a_magnitude = a.abs()
    values, magnitudes = [], []
    step = max(1, _BLOCK_ELEMENTS // k)
    for first in range(0, n, step):
        columns = slice(first, first + step)
        b = dequantize(group.b[columns], group.sfb[columns])
        values.append(a @ b.T)
        magnitudes.append(a_magnitude @ b.abs_().T)
    return Reference(torch.cat(values, dim=1), torch.cat(magnitudes, dim=1))
