"""One NVFP4 GEMM in Triton: short, right for every legal size, yours to speed up.

    C = (A * SFA) @ (B * SFB).T

    halfbyte submit examples/gemm_kernel.py --problem nvfp4_gemm --m 128 --n 256 --k 512

What differs from the grouped problem (examples/my_kernel.py): one tuple of seven tensors, which
have a batch as their last dimension, and one tensor back.
"""

import torch
import triton
import triton.language as tl

BLOCK_M, BLOCK_N = 128, 128
BLOCK_BYTES = 64  # bytes along k: 128 elements, 8 scales


@triton.jit
def decode_e2m1(codes):
    """Codes 0..15 as float16: a sign, two bits of exponent, one of mantissa."""
    # Put where float16 has them, these bits mean the value times 2^-14, subnormals included.
    codes = codes.to(tl.uint16)
    bits = ((codes & 8) << 12) | ((codes & 7) << 9)
    return bits.to(tl.float16, bitcast=True) * 16384.0


@triton.jit
def decode_e4m3(scales):
    """Scale bytes as float16: four bits of exponent, three of mantissa, never a sign."""
    bits = (scales.to(tl.uint16) & 127) << 7  # the value times 2^-8, likewise
    values = bits.to(tl.float16, bitcast=True) * 256.0
    return tl.where(scales == 127, float("nan"), values).to(tl.float16)


@triton.jit
def load(packed, scales, rows, row_count, start, k_bytes, BLOCK_BYTES: tl.constexpr):
    """Even and odd elements of `rows`, decoded: [rows, BLOCK_BYTES] each."""
    byte = start + tl.arange(0, BLOCK_BYTES)
    column = start // 8 + tl.arange(0, BLOCK_BYTES // 8)
    row_mask = rows < row_count
    mask = row_mask[:, None] & (byte < k_bytes)[None, :]
    pairs = tl.load(packed + rows[:, None] * k_bytes + byte[None, :], mask=mask, other=0)
    # Scales in rows: one for 16 elements, which are 8 bytes.
    columns = k_bytes // 8
    mask = row_mask[:, None] & (column < columns)[None, :]
    at = scales + rows[:, None] * columns + column[None, :]
    scale = decode_e4m3(tl.load(at, mask=mask, other=0))
    spread = tl.broadcast_to(scale[:, :, None], (rows.shape[0], BLOCK_BYTES // 8, 8))
    scale = tl.reshape(spread, (rows.shape[0], BLOCK_BYTES))
    return decode_e2m1(pairs & 15) * scale, decode_e2m1(pairs >> 4) * scale


@triton.jit
def gemm(
    a, b, sfa, sfb, c, m, n, k_bytes,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_BYTES: tl.constexpr,
):  # fmt: skip
    """One tile of C: [BLOCK_M, BLOCK_N]."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, k_bytes, BLOCK_BYTES):
        a_even, a_odd = load(a, sfa, rows, m, start, k_bytes, BLOCK_BYTES)
        b_even, b_odd = load(b, sfb, cols, n, start, k_bytes, BLOCK_BYTES)
        # The low nibble is the even k, the high one the odd k: two dots, and nothing is shuffled.
        sums = tl.dot(a_even, b_even.trans(), sums)
        sums = tl.dot(a_odd, b_odd.trans(), sums)
    mask = (rows < m)[:, None] & (cols < n)[None, :]
    tl.store(c + rows[:, None] * n + cols[None, :], sums.to(tl.float16), mask=mask)


def custom_kernel(data):
    """Write C [m, n, l] and return it; an entry of the batch is contiguous."""
    a, b, sfa, sfb, _, _, c = data
    m, n, batch = c.shape
    grid = (triton.cdiv(m, BLOCK_M), triton.cdiv(n, BLOCK_N))
    for z in range(batch if m > 0 else 0):
        operands = (tensor.view(torch.uint8)[..., z] for tensor in (a, b, sfa, sfb))
        gemm[grid](
            *operands, c[..., z], m, n, a.shape[1], BLOCK_M, BLOCK_N, BLOCK_BYTES, num_warps=8
        )
    return c
