"""The operands of a case: drawn from a seed, and as a submission receives them.

A case's bytes depend on its shapes, the seed and the distribution alone: they come raw from
Philox4x64 keyed by the seed, one stream for each tensor of each group, and never from a library's
sampling routines, which may change between versions.

`full_range` visits all codes and all finite scale bytes and still keeps most outputs finite.
Scales drawn evenly from all bytes would overflow float16 in 99 % of the outputs at k = 7168. So
each block of 16 along k has a window of four binades for A and another for B, one high where the
other is low, such that four standard deviations of the sum stay below the largest float16. A few
rows stand out: *loud* rows have scales of 120 and more and overflow on purpose unless they meet
*quiet* rows, whose scales are at most 0.03. At most one row in 64 is loud on either side, which
leaves about 97 % of the outputs finite.
"""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from kernels.nvfp4 import E4M3_LARGEST, E4M3_NAN, E4M3_ONE
from kernels.problem import BLOCK_ELEMENTS, Case, ConstantOperands, Distribution, GroupShape
from kernels.scale_layout import TILE_ROWS, to_blocked

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]
SubmissionData = tuple[
    list[tuple[Tensor, Tensor, Tensor]],
    list[tuple[Tensor, Tensor]],
    list[tuple[Tensor, Tensor]],
    list[tuple[int, int, int, int]],
]

_STREAM_CODES, _STREAM_SCALES, _STREAM_WINDOWS = 0, 2, 4
"""Numbers of the streams of a group: codes of A and B, scales of A and B, windows."""
_STREAMS_A_GROUP = 8

_OFFICIAL_CODES = np.uint8(0xBB)
"""Clears bit 2 of both codes: the magnitudes 0, 0.5, 1 and 1.5 remain."""
_PRODUCT_RMS = 68.5 / 8
"""Root mean square of the product of two elements with evenly drawn codes, scales aside."""
_FLOAT16_LARGEST = 65504.0
_BIAS = 7
_LOWEST_TOP, _HIGHEST_TOP = 3, 15
"""Biased exponents of the highest binade of a window: a window is four binades, 32 bytes."""
_WINDOW_BYTES = 32
_LOUD_EVERY, _LOUD_ROW = 64, 63
_QUIET_EVERY, _QUIET_ROW = 16, 7
_EDGE_BYTES = 16
"""Loud rows draw from this many of the largest bytes, quiet rows from this many of the smallest."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupOperands:
    """The operands of one group, all uint8, contiguous and on one device."""

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


def draw(
    case: Case, seed: int, distribution: Distribution | None = None
) -> tuple[GroupOperands, ...]:
    """Return the operands of every group on the CPU; `seed` has 128 bits.

    The case's own distribution is used unless another one is given. Its `seed` is not looked at.
    """
    chosen = case.distribution if distribution is None else distribution
    sides = [
        (side, _Source(seed, group))
        for group, (m, n, k) in enumerate(case.groups)
        for side in (_Side(0, m, k), _Side(1, n, k))
    ]
    # Philox draws without the interpreter's lock, and no side knows of another.
    with ThreadPoolExecutor() as pool:
        drawn = pool.map(lambda one: _draw_side(one[0], one[1], chosen), sides)
        laid_out = [
            _lay_out(side, *found, poison=case.poison_padding)
            for (side, _), found in zip(sides, drawn, strict=True)
        ]
    return tuple(
        GroupOperands(a, b, sfa, sfb, sfa_blocked, sfb_blocked)
        for (a, sfa, sfa_blocked), (b, sfb, sfb_blocked) in zip(
            laid_out[::2], laid_out[1::2], strict=True
        )
    )


def submission_data(groups: Sequence[GroupOperands], outputs: Sequence[Tensor]) -> SubmissionData:
    """Return `(abc, sf, sf_reordered, sizes)` as a submission receives it, one entry a group.

    `outputs` are float16 [m, n]. Everything is a view, but for linear scales that are not in host
    memory yet: the problem hands these over on the CPU.
    """
    abc, sf, sf_reordered, sizes = [], [], [], []
    for group, output in zip(groups, outputs, strict=True):
        a, b = (_last(x.view(torch.float4_e2m1fn_x2)) for x in (group.a, group.b))
        abc.append((a, b, _last(output)))
        sfa, sfb = (_last(x.cpu().view(torch.float8_e4m3fn)) for x in (group.sfa, group.sfb))
        sf.append((sfa, sfb))
        sf_reordered.append((_reordered(group.sfa_blocked), _reordered(group.sfb_blocked)))
        sizes.append((*group.shape, 1))
    return abc, sf, sf_reordered, sizes


def _last(matrix: Tensor) -> Tensor:
    """Return [rows, columns, 1] with the strides of a permuted [1, rows, columns]."""
    return matrix.unsqueeze(0).permute(1, 2, 0)


def _reordered(blocked: Tensor) -> Tensor:
    """Return [32, 4, row tiles, 4, column tiles, 1]."""
    return blocked.view(torch.float8_e4m3fn).unsqueeze(0).permute(3, 4, 1, 5, 2, 0)


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
    """A (index 0) or B (index 1) of a group."""

    index: int
    rows: int
    k: int

    @property
    def packed_shape(self) -> tuple[int, int]:
        return self.rows, self.k // 2

    @property
    def padded_scale_shape(self) -> tuple[int, int]:
        """Whole tiles of rows, so that row padding is as random as the rest."""
        return -(-self.rows // TILE_ROWS) * TILE_ROWS, self.k // BLOCK_ELEMENTS


def _draw_side(side: _Side, source: _Source, distribution: Distribution) -> tuple[Bytes, Bytes]:
    """Return the packed codes and the padded linear scales of A or of B."""
    if isinstance(distribution, ConstantOperands):
        code, byte = distribution.of_group(source.group)[side.index :: 2]
        codes = np.full(side.packed_shape, code << 4 | code, np.uint8)
        scales = np.full(side.padded_scale_shape, byte, np.uint8)
    else:
        codes = source.matrix(_STREAM_CODES + side.index, *side.packed_shape)
        scales = source.matrix(_STREAM_SCALES + side.index, *side.padded_scale_shape)
        if distribution == "official":
            codes &= _OFFICIAL_CODES
            scales = E4M3_ONE + (scales & np.uint8(1)) * np.uint8(8)
        else:
            scales = _full_range_scales(scales, _window_tops(source, side.k)[side.index])
    return codes, scales


def _lay_out(
    side: _Side, codes: Bytes, scales: Bytes, *, poison: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the codes and both layouts of the scales as tensors."""
    padded = torch.from_numpy(scales)
    if poison:
        padded[side.rows :] = E4M3_NAN
    return torch.from_numpy(codes), padded[: side.rows], to_blocked(padded)


def _full_range_scales(random: Bytes, tops: Integers) -> Bytes:
    """Turn random bytes [rows, k/16] into scales inside the windows; some rows loud or quiet."""
    lowest = np.minimum(tops * 8 + 7, E4M3_LARGEST) - (_WINDOW_BYTES - 1)
    scales: Bytes = lowest.astype(np.uint8) + random % _WINDOW_BYTES
    edge = random % _EDGE_BYTES
    loud, quiet = slice(_LOUD_ROW, None, _LOUD_EVERY), slice(_QUIET_ROW, None, _QUIET_EVERY)
    scales[loud] = edge[loud] + (E4M3_LARGEST + 1 - _EDGE_BYTES)
    scales[quiet] = edge[quiet]
    return scales


def _window_tops(source: _Source, k: int) -> tuple[Integers, Integers]:
    """Return the biased exponents of the highest binades of A and of B, one a block of 16."""
    room = _FLOAT16_LARGEST / (4 * _PRODUCT_RMS * math.sqrt(k))
    both = math.floor(math.log2(room)) + 2 * _BIAS
    # Every pair of windows comes once in 26 blocks, in random order from a random start.
    random = source.matrix(_STREAM_WINDOWS, 1, k // BLOCK_ELEMENTS)[0]
    order = np.argsort(random, kind="stable") + random[0]
    tops = _HIGHEST_TOP - _LOWEST_TOP + 1
    one = _LOWEST_TOP + order % tops
    other = np.clip(both - one, _LOWEST_TOP, _HIGHEST_TOP)
    swap = order // tops % 2 == 1
    return np.where(swap, one, other), np.where(swap, other, one)
