"""A grouped GEMM on NVFP4 operands in Triton: short, right for every legal size, yours to speed up.

    C[g] = (A[g] * SFA[g]) @ (B[g] * SFB[g]).T      for every group g

    halfbyte submit examples/my_kernel.py --m 96,128 --n 128,256 --k 256,512

The file needs one function, `custom_kernel`. It decodes in registers: FP4 code times block scale is
exact in float16, so a float16 dot with float32 sums is the same mathematics as an FP4 tensor core.

Where to go from here: one launch for all groups instead of one a group; tiles chosen for the sizes;
`tl.dot_scaled`, which reads packed operands and scales as they are, where the GPU has it.
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
def load_scales(scales, rows, start, tile_columns, mask, BLOCK_BYTES: tl.constexpr):
    """Scales of `rows` for BLOCK_BYTES packed bytes from byte `start` on: [rows, BLOCK_BYTES]."""
    # Scales are stored in tiles of 128 rows by 4 columns; each tile is 32 lines of 16 bytes, and a
    # line has the four scales of rows i, i + 32, i + 64 and i + 96. Past k there is padding.
    columns = start // 8 + tl.arange(0, BLOCK_BYTES // 8)
    tiles = (rows // 128)[:, None] * tile_columns + (columns // 4)[None, :]
    within = (rows % 32 * 16 + rows % 128 // 32 * 4)[:, None] + (columns % 4)[None, :]
    inside = mask[:, None] & (columns < tile_columns * 4)[None, :]
    values = decode_e4m3(tl.load(scales + tiles * 512 + within, mask=inside, other=0))
    # One scale belongs to 16 elements, which are 8 bytes.
    spread = tl.broadcast_to(values[:, :, None], (rows.shape[0], BLOCK_BYTES // 8, 8))
    return tl.reshape(spread, (rows.shape[0], BLOCK_BYTES))


@triton.jit
def gemm(
    a, b, c, a_scales, b_scales, m, n, k_bytes, tile_columns, a_pitch, b_pitch, c_pitch,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_BYTES: tl.constexpr,
):  # fmt: skip
    """One tile of C: [BLOCK_M, BLOCK_N]."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    row_mask, col_mask = rows < m, cols < n
    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, k_bytes, BLOCK_BYTES):
        ks = start + tl.arange(0, BLOCK_BYTES)
        a_mask = row_mask[:, None] & (ks < k_bytes)[None, :]
        b_mask = col_mask[:, None] & (ks < k_bytes)[None, :]
        a_bytes = tl.load(a + rows[:, None] * a_pitch + ks[None, :], mask=a_mask, other=0)
        b_bytes = tl.load(b + cols[:, None] * b_pitch + ks[None, :], mask=b_mask, other=0)
        a_scale = load_scales(a_scales, rows, start, tile_columns, row_mask, BLOCK_BYTES)
        b_scale = load_scales(b_scales, cols, start, tile_columns, col_mask, BLOCK_BYTES)
        # The low nibble is the even k, the high one the odd k: two dots, and nothing is shuffled.
        a_even, a_odd = decode_e2m1(a_bytes & 15) * a_scale, decode_e2m1(a_bytes >> 4) * a_scale
        b_even, b_odd = decode_e2m1(b_bytes & 15) * b_scale, decode_e2m1(b_bytes >> 4) * b_scale
        sums = tl.dot(a_even, b_even.trans(), sums)
        sums = tl.dot(a_odd, b_odd.trans(), sums)
    c_mask = row_mask[:, None] & col_mask[None, :]
    tl.store(c + rows[:, None] * c_pitch + cols[None, :], sums.to(tl.float16), mask=c_mask)


def raw(tensor):
    """The same memory as bytes: Triton has no type for two FP4 codes in one."""
    return tensor.view(torch.uint8)


def custom_kernel(data):
    """Write every group's C and return them in order.

    data is four lists with one entry a group: (a, b, c), scales in rows (not used here), scales in
    tiles, and (m, n, k, 1) with k in elements; a packed row of A or B is k / 2 bytes.
    """
    operands, _, tiled_scales, sizes = data
    outputs = []
    groups = zip(operands, tiled_scales, sizes, strict=True)
    for (a, b, c), (a_scales, b_scales), (m, n, k, _) in groups:
        if m > 0:
            grid = (triton.cdiv(m, BLOCK_M), triton.cdiv(n, BLOCK_N))
            tile_columns = triton.cdiv(k, 64)  # 4 scales of 16 elements
            gemm[grid](
                raw(a), raw(b), c, raw(a_scales), raw(b_scales), m, n, k // 2, tile_columns,
                a.stride(0), b.stride(0), c.stride(0),
                BLOCK_M, BLOCK_N, BLOCK_BYTES, num_warps=8,
            )  # fmt: skip
        outputs.append(c)
    return outputs
