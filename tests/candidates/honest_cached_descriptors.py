"""Passed: makes its descriptors once for each shape and points them to the tensors of each call.

says: bit-exact
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

MAGNITUDES = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
VALUES = torch.cat([MAGNITUDES, -MAGNITUDES])
BLOCK = 16
descriptors = {}


@triton.jit
def product(a, b, c, m, n, k, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    column = tl.program_id(1) * BLOCK
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, k, BLOCK):
        rows = a.load([row, start])
        columns = b.load([column, start])
        total = tl.dot(rows, tl.trans(columns), total, input_precision="ieee")
    at_row = row + tl.arange(0, BLOCK)
    at_column = column + tl.arange(0, BLOCK)
    inside = (at_row < m)[:, None] & (at_column < n)[None, :]
    tl.store(c + at_row[:, None] * n + at_column[None, :], total.to(tl.float16), mask=inside)


def decode(packed, scales):
    codes = packed[..., 0].contiguous().view(torch.uint8)
    nibbles = torch.stack([codes & 15, codes >> 4], dim=-1).flatten(1)
    scale = scales[..., 0].float().repeat_interleave(16, dim=1)
    return VALUES.to(codes.device)[nibbles.int()] * scale.to(codes.device)


def described(name, tensor):
    key = name, tuple(tensor.shape)
    if key not in descriptors:
        descriptors[key] = TensorDescriptor.from_tensor(tensor, block_shape=[BLOCK, BLOCK])
    descriptors[key].base = tensor
    return descriptors[key]


def custom_kernel(data):
    for (a, b, c), (sfa, sfb), (m, n, k, _) in zip(data[0], data[1], data[3]):
        rows = described("a", decode(a, sfa))
        columns = described("b", decode(b, sfb))
        grid = (triton.cdiv(m, BLOCK), triton.cdiv(n, BLOCK))
        product[grid](rows, columns, c, m, n, k, BLOCK=BLOCK)
    return [c for _, _, c in data[0]]
