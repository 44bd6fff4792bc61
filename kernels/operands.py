"""The operands of a case, drawn from a seed.

All problems come down to products `A @ B.T`: one for every group, entry of the batch and right
operand, in this order. Products of one output share their A.

A case's bytes depend on its problem, its shapes, the seed and the distribution alone: they come raw
from Philox4x64 keyed by the seed, one stream for each tensor of each group, and never from a
library's sampling routines, which may change between versions.

`full_range` visits all codes and all finite scale bytes and still keeps most outputs finite.
Scales drawn evenly from all bytes would overflow float16 in 99 % of the outputs at k = 7168. So
each block of 16 along k has a window of four binades for A and another for B, one high where the
other is low, such that four standard deviations of the sum stay below the largest float16 (or
below what the problem says: where sums are multiplied, each has to be smaller). A few rows stand
out: *loud* rows have scales of 120 and more, or all that no window reaches, and overflow on purpose
unless they meet *quiet* rows, whose scales are at most 0.03. At most one row in 64 is loud on
either side, which leaves about 97 % of the outputs finite.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from kernels.nvfp4 import E4M3_LARGEST, E4M3_NAN
from kernels.problem import (
    BLOCK_ELEMENTS,
    Case,
    ConstantOperands,
    Distribution,
    GroupShape,
    Problem,
)
from kernels.problems import NVFP4_GROUP_GEMM
from kernels.scale_layout import TILE_ROWS, to_blocked

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]
_STREAM_CODES, _STREAM_SCALES, _STREAM_WINDOWS = (0, 1, 5), (2, 3, 6), 4
"""Numbers of the streams of a group: codes and scales of A and the right operands, windows."""
_STREAMS_A_GROUP = 8

_PRODUCT_RMS = 68.5 / 8
"""Root mean square of the product of two elements with evenly drawn codes, scales aside."""
_BIAS = 7
_LOWEST_TOP, _HIGHEST_TOP = 3, 15
"""Biased exponents of the highest binade of a window: a window is four binades, 32 bytes."""
_WINDOW_BYTES = 32
_LOUD_EVERY, _LOUD_ROW = 64, 63
_QUIET_EVERY, _QUIET_ROW = 16, 7
_EDGE_BYTES = 16
"""Quiet rows draw from this many of the smallest bytes, loud rows from as many of the largest, or
from more where windows end lower."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupOperands:
    """The operands of one product, all uint8 and on one device."""

    a: Tensor
    """[m, k/2], packed."""
    b: Tensor
    """[n, k/2], packed."""
    sfa: Tensor
    """[m, k/16], linear."""
    sfb: Tensor
    """[n, k/16], linear."""
    sfa_blocked: Tensor
    """[ceil(m/128), ceil(k/64), 32, 4, 4]."""
    sfb_blocked: Tensor
    """[ceil(n/128), ceil(k/64), 32, 4, 4]."""

    @property
    def shape(self) -> GroupShape:
        """The shape in logical elements."""
        return GroupShape(self.a.shape[0], self.b.shape[0], self.a.shape[1] * 2)

    def to(self, device: torch.device | str) -> Self:
        """Return them on a device."""
        return type(self)(*(getattr(self, field.name).to(device) for field in fields(self)))


def draw(
    case: Case,
    seed: int,
    distribution: Distribution | None = None,
    problem: Problem = NVFP4_GROUP_GEMM,
) -> tuple[GroupOperands, ...]:
    """Return the operands of every product on the CPU; `seed` has 128 bits.

    The case's own distribution is used unless another one is given. Its `seed` is not looked at.
    """
    chosen = case.distribution if distribution is None else distribution
    entries = [(group, shape) for group, shape in enumerate(case.groups) for _ in range(case.l)]
    sides = [
        _Side(problem, _Source(seed, entry), group, index, rows, shape)
        for entry, (group, shape) in enumerate(entries)
        for index, rows in enumerate(problem.rows(shape))
    ]
    # Philox draws without the interpreter's lock, and no side knows of another.
    with ThreadPoolExecutor() as pool:
        drawn = pool.map(lambda side: side.draw(chosen), sides)
        laid_out = [
            side.lay_out(*found, poison=case.poison_padding)
            for side, found in zip(sides, drawn, strict=True)
        ]
    count = len(problem.operands)
    return tuple(
        GroupOperands(
            *(tensor for pair in zip(laid_out[first], right, strict=True) for tensor in pair)
        )
        for first in range(0, len(laid_out), count)
        for right in laid_out[first + 1 : first + count]
    )


def for_reference(problem: Problem, product: GroupOperands) -> GroupOperands:
    """Return the product with linear scales beside its codes, and only the rows of B that count."""
    rows = 1 if problem.vector else product.shape.n
    device = product.a.device
    return replace(
        product,
        b=product.b[:rows],
        sfa=product.sfa.to(device),
        sfb=product.sfb[:rows].to(device),
    )


@dataclass(frozen=True, slots=True)
class _Source:
    """Random bytes of one group."""

    seed: int
    group: int

    def matrix(self, stream: int, rows: int, columns: int) -> Bytes:
        """Return uint8 [rows, columns] of one stream."""
        # The counter has 256 bits: its top word tells the streams apart, 2^192 blocks each.
        counter = (self.group * _STREAMS_A_GROUP + stream) << 192
        words = np.random.Philox(key=self.seed, counter=counter).random_raw(-(-rows * columns // 8))
        flat: Bytes = words.astype("<u8", copy=False).view(np.uint8)
        return flat[: rows * columns].reshape(rows, columns)


@dataclass(frozen=True, slots=True)
class _Side:
    """One operand of a product: A (index 0) or what it is multiplied with."""

    problem: Problem
    source: _Source
    group: int
    index: int
    rows: int
    shape: GroupShape

    def draw(self, distribution: Distribution) -> tuple[Bytes, Bytes]:
        """Return the packed codes and the linear scales, rows filled up to whole tiles.

        Whole tiles, so that row padding is as random as the rest.
        """
        codes_shape = self.rows, self.shape.k // 2
        scales_shape = -(-self.rows // TILE_ROWS) * TILE_ROWS, self.shape.k // BLOCK_ELEMENTS
        is_b = min(self.index, 1)
        if isinstance(distribution, ConstantOperands):
            code, byte = distribution.of_group(self.group)[is_b::2]
            return (
                np.full(codes_shape, code << 4 | code, np.uint8),
                np.full(scales_shape, byte, np.uint8),
            )
        codes = self.source.matrix(_STREAM_CODES[self.index], *codes_shape)
        random = self.source.matrix(_STREAM_SCALES[self.index], *scales_shape)
        if distribution == "official":
            official = self.problem.official
            codes &= np.uint8(official.code_mask)
            return codes, np.resize(np.array(official.scales, np.uint8), 256)[random]
        windows = _Windows(self.shape.k, self.problem.largest_sum)
        tops = windows.tops(self.source)[is_b]
        return codes, _full_range_scales(random, tops, windows.highest_top)

    def lay_out(
        self, codes: Bytes, scales: Bytes, *, poison: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the codes and both layouts of the scales as tensors."""
        padded = torch.from_numpy(scales)
        if poison:
            padded[(self.shape.n if self.index else self.shape.m) :] = E4M3_NAN
        return torch.from_numpy(codes), padded[: self.rows], to_blocked(padded)


def _full_range_scales(random: Bytes, tops: Integers, highest_top: int) -> Bytes:
    """Turn random bytes [rows, k/16] into scales inside the windows; some rows loud or quiet."""
    lowest = np.minimum(tops * 8 + 7, E4M3_LARGEST) - (_WINDOW_BYTES - 1)
    scales: Bytes = lowest.astype(np.uint8) + random % _WINDOW_BYTES
    beyond = max(_EDGE_BYTES, E4M3_LARGEST - (highest_top * 8 + 7))
    loud, quiet = slice(_LOUD_ROW, None, _LOUD_EVERY), slice(_QUIET_ROW, None, _QUIET_EVERY)
    scales[loud] = random[loud] % beyond + (E4M3_LARGEST + 1 - beyond)
    scales[quiet] = random[quiet] % _EDGE_BYTES
    return scales


@dataclass(frozen=True, slots=True)
class _Windows:
    """The windows of A and of B, which together leave room for a sum over k."""

    k: int
    largest_sum: float

    @property
    def both(self) -> int:
        """Sum of the biased exponents of the highest binades of A and of B."""
        room = self.largest_sum / (4 * _PRODUCT_RMS * math.sqrt(self.k))
        return math.floor(math.log2(room)) + 2 * _BIAS

    @property
    def highest_top(self) -> int:
        """The highest that leaves the other side a window."""
        return min(_HIGHEST_TOP, max(_LOWEST_TOP, self.both - _LOWEST_TOP))

    def tops(self, source: _Source) -> tuple[Integers, Integers]:
        """Return the biased exponents of the highest binades of A and B, one a block of 16."""
        # Every pair of windows comes once in 26 blocks, in random order from a random start.
        random = source.matrix(_STREAM_WINDOWS, 1, self.k // BLOCK_ELEMENTS)[0]
        order = np.argsort(random, kind="stable") + random[0]
        tops = self.highest_top - _LOWEST_TOP + 1
        one = _LOWEST_TOP + order % tops
        other = np.clip(self.both - one, _LOWEST_TOP, self.highest_top)
        swap = order // tops % 2 == 1
        return np.where(swap, one, other), np.where(swap, other, one)
