"""Incorrect: right in the first entry of a batch, of which it takes B for all entries.

problem: nvfp4_gemm
cases: single
reason: values
says: in case 1 (1 of 2 cases passed): group 1, row
"""

import torch

MAGNITUDES = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
VALUES = torch.cat([MAGNITUDES, -MAGNITUDES])


def decode(packed, scales):
    codes = packed.contiguous().view(torch.uint8)
    nibbles = torch.stack([codes & 15, codes >> 4], dim=-1).flatten(1)
    return VALUES.to(codes.device)[nibbles.int()] * scales.float().repeat_interleave(16, dim=1)


def custom_kernel(data):
    a, b, sfa, sfb, _, _, c = data
    for z in range(c.shape[2]):
        rows = decode(a[..., z], sfa[..., z])
        c[..., z] = rows @ decode(b[..., 0], sfb[..., 0]).T
    return c
