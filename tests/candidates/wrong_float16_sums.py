"""Incorrect: sums in float16, one block of 16 after the other.

class: 29
reason: values
says: outside the bound
"""

import torch

MAGNITUDES = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
VALUES = torch.cat([MAGNITUDES, -MAGNITUDES])


def decode(packed, scales):
    codes = packed[..., 0].contiguous().view(torch.uint8)
    nibbles = torch.stack([codes & 15, codes >> 4], dim=-1).flatten(1)
    scale = scales[..., 0].float().repeat_interleave(16, dim=1)
    return VALUES.to(codes.device)[nibbles.int()] * scale.to(codes.device)


def custom_kernel(data):
    for (a, b, c), (sfa, sfb) in zip(data[0], data[1]):
        rows, columns = decode(a, sfa), decode(b, sfb)
        c.zero_()
        for start in range(0, rows.shape[1], 16):
            block = slice(start, start + 16)
            c[..., 0] += (rows[:, block] @ columns[:, block].T).half()
    return [c for _, _, c in data[0]]
