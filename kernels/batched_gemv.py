"""Batched NVFP4 GEMV that decodes in registers: sm_80 and up, and Triton's interpreter.

    C[z] = (A[z] * SFA[z]) @ (b[z] * SFB[z])          for every z below l

Shapes (m and k in logical elements; any m >= 0, k a multiple of 16)
    a               float4_e2m1fn_x2  [m, k/2, l]     E2M1 pairs, the low nibble is the even k
    b               float4_e2m1fn_x2  [128, k/2, l]   row 0 counts, no other is read
    c               float16           [m, 1, l]       written in full
    sfa_reordered   float8_e4m3fn     blocked         128 x 4 tiles of 512 bytes; no padding is read
    sfb_reordered   float8_e4m3fn     blocked         as sfa_reordered, one tile of rows

Numerics
    A code times a scale is exact in float16, the product of two in float32. A program sums its
    columns apart over k, and these sums in the end: bit-equal from run to run for one tile. c is
    rounded once, to nearest even. Scale byte 0x7F is NaN. Error against the reference: compare.py.

Errors
    ValueError         a tensor is not laid out as above (on the host, before any launch)

Source
    Decode: kernels/portable_gemm.py.
"""

import math
from collections.abc import Sequence

import torch
import triton
import triton.language as tl

from kernels import portable_gemm
from kernels.checks import check_blocked, check_rows
from kernels.gemm_as_groups import GemmData
from kernels.portable_gemm import load_operand
from kernels.problem import VECTOR_ROWS, GroupShape
from kernels.tiles import TileConfig, gemv_tile


@triton.jit
def _gemv_kernel(
    a,
    b,
    sfa,
    sfb,
    c,
    m,
    k,
    sfa_batch,
    sfb_batch,
    ALIGN: tl.constexpr,
    B_ROWS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    first_row = tl.program_id(0) * BLOCK_M
    first_b = tl.cast(0, tl.int32)
    z = tl.program_id(1).to(tl.int64)
    a += z * m * (k // 2)
    b += z * B_ROWS * (k // 2)
    sfa += z * sfa_batch
    sfb += z * sfb_batch
    sums = tl.zeros((BLOCK_M, BLOCK_K // 2), tl.float32)
    for first_k in tl.range(0, k, BLOCK_K):
        a_even, a_odd = load_operand(a, sfa, first_row, m, k, first_k, BLOCK_M, BLOCK_K, ALIGN)
        b_even, b_odd = load_operand(b, sfb, first_b, 1, k, first_k, 1, BLOCK_K, ALIGN)
        sums += a_even.to(tl.float32) * b_even.to(tl.float32)
        sums += a_odd.to(tl.float32) * b_odd.to(tl.float32)
    row = first_row + tl.arange(0, BLOCK_M)
    # Each operand carries 2^-7.
    total = tl.sum(sums, axis=1) * 16384.0
    tl.store(c + z * m + row, total.to(tl.float16), mask=row < m)


def applies(groups: Sequence[GroupShape], capability: tuple[int, int]) -> str | None:
    """Return why the kernel cannot run these sizes on such a device, None where it can."""
    return portable_gemm.applies(groups, capability)


def launch(data: GemmData, tile: TileConfig) -> None:
    """Run all rows of all entries of the batch in one launch."""
    a, b, _, _, sfa, sfb, c = data
    m, k, batch = a.shape[0], a.shape[1] * 2, a.shape[2]
    _gemv_kernel[(triton.cdiv(m, tile.block_m), batch)](
        *(x.view(torch.uint8) for x in (a, b, sfa, sfb)),
        c,
        m,
        k,
        sfa.stride(5),
        sfb.stride(5),
        ALIGN=math.gcd(16, k // 2, m * k // 2, a.data_ptr(), b.data_ptr()),
        B_ROWS=VECTOR_ROWS,
        BLOCK_M=tile.block_m,
        BLOCK_K=tile.block_k,
        num_warps=tile.warps,
        num_stages=tile.stages,
    )


def custom_kernel(data: GemmData) -> torch.Tensor:
    """Compute every entry of the batch into `c` and return it.

    Raises:
        ValueError: an operand is not as the module's docstring says.

    """
    a, b, _, _, sfa, sfb, c = data
    m, k, batch = a.shape[0], a.shape[1] * 2, a.shape[2]
    check_rows("a", a, torch.float4_e2m1fn_x2, (m, k // 2, batch))
    check_rows("b", b, torch.float4_e2m1fn_x2, (VECTOR_ROWS, k // 2, batch))
    check_rows("c", c, torch.float16, (m, 1, batch))
    check_blocked("sfa_reordered", sfa, m, k, batch)
    check_blocked("sfb_reordered", sfb, VECTOR_ROWS, k, batch)
    if m:
        launch(data, gemv_tile(m, k, triton.knobs.runtime.interpret))
    return c
