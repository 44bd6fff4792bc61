"""Passed: leaves the product to the library.

Calling one is allowed: it is measured like any kernel. Returns a tuple, and tensors of its own.

class: 32
says: bit-exact
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
    outputs = []
    for (a, b, c), (sfa, sfb) in zip(data[0], data[1]):
        product = torch.nn.functional.linear(decode(a, sfa), decode(b, sfb))
        outputs.append(product.half().unsqueeze(-1))
    return tuple(outputs)
