"""Dual NVFP4 GEMM that decodes to float16 in registers: sm_80 and up, and Triton's interpreter.

    C = silu((A * SFA) @ (B1 * SFB1).T) * ((A * SFA) @ (B2 * SFB2).T)    silu(x) = x / (1 + exp(-x))

Shapes (m, n, k in logical elements; any m >= 0, n >= 1, k a multiple of 16)
    a               float4_e2m1fn_x2  [m, k/2, l]   E2M1 pairs, the low nibble is the even k
    b1, b2          float4_e2m1fn_x2  [n, k/2, l]   as a
    c               float16           [m, n, l]     written in full
    sfa_reordered   float8_e4m3fn     blocked       128 x 4 tiles of 512 bytes; no padding is read
    sfb1_reordered, sfb2_reordered                  as sfa_reordered, with n for m

Numerics
    Both sums as in kernels/portable_gemm.py, silu and the product in float32. c is rounded once, to
    nearest even. Error against the reference: compare.py, with what silu_gate.py makes of it.

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
from kernels.portable_gemm import load_operand
from kernels.problem import GroupShape
from kernels.tiles import TileConfig, dual_tile


@triton.jit
def _dual_kernel(
    a,
    b1,
    b2,
    sfa,
    sfb1,
    sfb2,
    c,
    m,
    n,
    k,
    sfa_batch,
    sfb_batch,
    ALIGN: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    tiles_m = (m + BLOCK_M - 1) // BLOCK_M
    first_row = tl.program_id(0) % tiles_m * BLOCK_M
    first_col = tl.program_id(0) // tiles_m * BLOCK_N
    z = tl.program_id(1).to(tl.int64)
    a += z * m * (k // 2)
    b1 += z * n * (k // 2)
    b2 += z * n * (k // 2)
    sfa += z * sfa_batch
    sfb1 += z * sfb_batch
    sfb2 += z * sfb_batch

    gate = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    up = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for first_k in tl.range(0, k, BLOCK_K):
        a_even, a_odd = load_operand(a, sfa, first_row, m, k, first_k, BLOCK_M, BLOCK_K, ALIGN)
        b_even, b_odd = load_operand(b1, sfb1, first_col, n, k, first_k, BLOCK_N, BLOCK_K, ALIGN)
        gate = tl.dot(a_even, b_even.T, gate)
        gate = tl.dot(a_odd, b_odd.T, gate)
        b_even, b_odd = load_operand(b2, sfb2, first_col, n, k, first_k, BLOCK_N, BLOCK_K, ALIGN)
        up = tl.dot(a_even, b_even.T, up)
        up = tl.dot(a_odd, b_odd.T, up)

    # Each operand carries 2^-7.
    gate *= 16384.0
    up *= 16384.0
    gated = gate / (1.0 + tl.exp(-gate))
    row = tl.arange(0, BLOCK_M)
    col = tl.arange(0, BLOCK_N)
    first = z * m * n + first_row.to(tl.int64) * n + first_col
    at = c + first + (row[:, None] * n + col[None, :])
    inside = (row < m - first_row)[:, None] & (col < n - first_col)[None, :]
    tl.store(at, (gated * up).to(tl.float16), mask=inside)


def applies(groups: Sequence[GroupShape], capability: tuple[int, int]) -> str | None:
    """Return why the kernel cannot run these sizes on such a device, None where it can."""
    return portable_gemm.applies(groups, capability)


def launch(data: tuple[torch.Tensor, ...], tile: TileConfig) -> None:
    """Run all tiles of all entries of the batch in one launch."""
    a, b1, b2, _, _, _, sfa, sfb1, sfb2, c = data
    m, n, batch = c.shape
    k = a.shape[1] * 2
    rows = (a, b1, b2)
    _dual_kernel[(triton.cdiv(m, tile.block_m) * triton.cdiv(n, tile.block_n), batch)](
        *(x.view(torch.uint8) for x in (*rows, sfa, sfb1, sfb2)),
        c,
        m,
        n,
        k,
        sfa.stride(5),
        sfb1.stride(5),
        ALIGN=math.gcd(16, k // 2, m * k // 2, n * k // 2, *(x.data_ptr() for x in rows)),
        BLOCK_M=tile.block_m,
        BLOCK_N=tile.block_n,
        BLOCK_K=tile.block_k,
        num_warps=tile.warps,
        num_stages=tile.stages,
    )


def custom_kernel(data: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """Compute `c`, the last of the ten tensors, and return it.

    Raises:
        ValueError: an operand is not as the module's docstring says.

    """
    a, b1, b2, _, _, _, sfa, sfb1, sfb2, c = data
    m, n, batch = c.shape
    k = a.shape[1] * 2
    check_rows("a", a, torch.float4_e2m1fn_x2, (m, k // 2, batch))
    check_rows("b1", b1, torch.float4_e2m1fn_x2, (n, k // 2, batch))
    check_rows("b2", b2, torch.float4_e2m1fn_x2, (n, k // 2, batch))
    check_rows("c", c, torch.float16, (m, n, batch))
    check_blocked("sfa_reordered", sfa, m, k, batch)
    check_blocked("sfb1_reordered", sfb1, n, k, batch)
    check_blocked("sfb2_reordered", sfb2, n, k, batch)
    if m:
        launch(data, dual_tile(GroupShape(m, n, k), triton.knobs.runtime.interpret))
    return c
