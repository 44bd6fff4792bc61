"""Grouped NVFP4 GEMM that decodes to float16 in registers: sm_80 and up, and Triton's interpreter.

    C[g] = (A[g] * SFA[g]) @ (B[g] * SFB[g]).T          for every group g

Shapes (m, n, k in logical elements of a group; any m >= 0, n >= 1, k a multiple of 16)
    a               float4_e2m1fn_x2  [m, k/2, 1]   E2M1 pairs, the low nibble is the even k
    b               float4_e2m1fn_x2  [n, k/2, 1]   as a
    c               float16           [m, n, 1]     written in full; an empty group writes nothing
    sfa_reordered   float8_e4m3fn     blocked       128 x 4 tiles of 512 bytes; no padding is read
    sfb_reordered   float8_e4m3fn     blocked       as sfa_reordered, with n for m

Numerics
    A code times a scale is exact in float16, the product of two in float32. Sums run over tiles in
    k order, even k before odd k within a tile: bit-equal from run to run for one TileConfig. c is
    rounded once, to nearest even. Scale byte 0x7F is NaN. Error against the reference: compare.py.

Errors
    ValueError         a shape, dtype or stride above is violated (on the host, before any launch)

Source
    Scale layout: cuBLAS manual, 1D block scaling factors layout. Decode: kernels/nvfp4.py.
"""

import math
from collections.abc import Sequence

import torch
import triton
import triton.language as tl

from kernels.group_table import GroupTable, read_groups
from kernels.layout import SubmissionData
from kernels.problem import GroupShape
from kernels.tiles import TileConfig, portable_tile


@triton.jit
def _block_scales(base, first_row, row, column, columns, tile_columns):
    """Load scales of `first_row + row` x `column` from a blocked layout, times 2^7."""
    base += (first_row // 128).to(tl.int64) * tile_columns * 512
    row += first_row % 128
    tile = (row // 128)[:, None] * tile_columns + (column // 4)[None, :]
    within = (row % 32 * 16 + row % 128 // 32 * 4)[:, None] + (column % 4)[None, :]
    byte = tl.load(base + tile * 512 + within, mask=(column < columns)[None, :], other=0)
    byte = byte.to(tl.int16)  # [ROWS, BLOCK_K // 16]
    # E4M3 in the exponent and mantissa of a float16 is the scale times 2^-8, subnormals included;
    # a conversion instruction exists from sm_89 on only.
    bits = ((byte & 0x7F) << 7) | ((byte & 0x80) << 8)
    bits = tl.where((byte & 0x7F) == 0x7F, 0x7E00, bits)
    return bits.to(tl.float16, bitcast=True) * 32768.0


@triton.jit
def load_operand(
    base,
    scale_base,
    first_row,
    rows,
    k,
    first_k,
    ROWS: tl.constexpr,
    BLOCK_K: tl.constexpr,
    ALIGN: tl.constexpr,
):
    """Load and decode `[ROWS, BLOCK_K]`; return its even and its odd columns, each times 2^-7."""
    # What lies past the last row is computed from the last row and never stored.
    row = tl.minimum(tl.arange(0, ROWS), rows - 1 - first_row)
    row_bytes = tl.multiple_of(k // 2, ALIGN)
    byte = first_k // 2 + tl.arange(0, BLOCK_K // 2)
    at = base + first_row.to(tl.int64) * row_bytes + (row[:, None] * row_bytes + byte[None, :])
    pair = tl.load(at, mask=(byte < row_bytes)[None, :], other=0)  # [ROWS, BLOCK_K // 2]
    pair = pair.to(tl.int16)
    column = first_k // 16 + tl.arange(0, BLOCK_K // 16)
    scale = _block_scales(scale_base, first_row, row, column, k // 16, (k + 63) // 64)
    scale = tl.expand_dims(scale, 2).broadcast_to(ROWS, BLOCK_K // 16, 8)
    scale = scale.reshape(ROWS, BLOCK_K // 2)
    # Exponent and mantissa of E2M1 go to bits 9..11 of a float16, its sign to bit 15: that is the
    # element times 2^-14, subnormal code included.
    even = ((pair & 0x07) << 9) | ((pair & 0x08) << 12)
    odd = ((pair & 0x70) << 5) | ((pair & 0x80) << 8)
    return even.to(tl.float16, bitcast=True) * scale, odd.to(tl.float16, bitcast=True) * scale


@triton.jit
def _grouped_kernel(
    table,
    GROUPS: tl.constexpr,
    GROUPS_POWER: tl.constexpr,
    ALIGN: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    tile = tl.program_id(0)
    slot = tl.arange(0, GROUPS_POWER)
    first_tiles = tl.load(table + 8 * GROUPS + slot, mask=slot < GROUPS, other=1 << 62)
    group = tl.sum((first_tiles <= tile).to(tl.int32), axis=0) - 1
    entry = table + group
    a = tl.multiple_of(tl.load(entry).to(tl.pointer_type(tl.uint8)), ALIGN)
    b = tl.multiple_of(tl.load(entry + GROUPS).to(tl.pointer_type(tl.uint8)), ALIGN)
    sfa = tl.load(entry + 2 * GROUPS).to(tl.pointer_type(tl.uint8))
    sfb = tl.load(entry + 3 * GROUPS).to(tl.pointer_type(tl.uint8))
    c = tl.load(entry + 4 * GROUPS).to(tl.pointer_type(tl.float16))
    m = tl.load(entry + 5 * GROUPS).to(tl.int32)
    n = tl.load(entry + 6 * GROUPS).to(tl.int32)
    k = tl.load(entry + 7 * GROUPS).to(tl.int32)
    tile -= tl.load(entry + 8 * GROUPS).to(tl.int32)
    tiles_m = (m + BLOCK_M - 1) // BLOCK_M
    first_row = tile % tiles_m * BLOCK_M
    first_col = tile // tiles_m * BLOCK_N

    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for first_k in tl.range(0, k, BLOCK_K):
        a_even, a_odd = load_operand(a, sfa, first_row, m, k, first_k, BLOCK_M, BLOCK_K, ALIGN)
        b_even, b_odd = load_operand(b, sfb, first_col, n, k, first_k, BLOCK_N, BLOCK_K, ALIGN)
        acc = tl.dot(a_even, b_even.T, acc)
        acc = tl.dot(a_odd, b_odd.T, acc)

    row = tl.arange(0, BLOCK_M)
    col = tl.arange(0, BLOCK_N)
    at = c + (first_row.to(tl.int64) * n + first_col) + (row[:, None] * n + col[None, :])
    in_group = (row < m - first_row)[:, None] & (col < n - first_col)[None, :]
    # Each operand carries 2^-7.
    tl.store(at, (acc * 16384.0).to(tl.float16), mask=in_group)


def applies(groups: Sequence[GroupShape], capability: tuple[int, int]) -> str | None:
    """Return why the kernel cannot run these groups on such a device, None where it can."""
    if capability < (8, 0):
        return "needs compute capability 8.0 or higher"
    return None


def launch(groups: GroupTable, tile: TileConfig) -> None:
    """Run all groups in one launch, one program a tile."""
    align = math.gcd(
        16,
        *(shape.k // 2 for shape in groups.shapes),
        *(address for addresses in groups.addresses for address in addresses[:2]),
    )
    _grouped_kernel[(groups.tiles(tile),)](
        groups.upload(tile),
        GROUPS=len(groups.shapes),
        GROUPS_POWER=triton.next_power_of_2(len(groups.shapes)),
        ALIGN=align,
        BLOCK_M=tile.block_m,
        BLOCK_N=tile.block_n,
        BLOCK_K=tile.block_k,
        num_warps=tile.warps,
        num_stages=tile.stages,
    )


def custom_kernel(data: SubmissionData) -> list[torch.Tensor]:
    """Compute every group into its `c` and return these tensors in order.

    Raises:
        ValueError: an operand is not as the module's docstring says.

    """
    groups = read_groups(data)
    if groups.shapes:
        launch(groups, portable_tile(groups.shapes, triton.knobs.runtime.interpret))
    return [c for _, _, c in data[0]]
