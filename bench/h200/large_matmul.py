"""Decodes to float16 and has cuBLAS multiply: a profile shows tensor cores at work, and idle."""

import torch

MAGNITUDES = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
VALUES = torch.cat([MAGNITUDES, -MAGNITUDES]).to(torch.float16)


def decode(packed: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """Return [rows, k]; a code times a scale is exact."""
    codes = packed[..., 0].contiguous().view(torch.uint8)
    nibbles = torch.stack([codes & 15, codes >> 4], dim=-1).flatten(1)
    scale = scales[..., 0].to(codes.device, torch.float16).repeat_interleave(16, dim=1)
    return VALUES.to(codes.device)[nibbles.int()] * scale


def custom_kernel(data: tuple) -> list[torch.Tensor]:
    operands, scales, _, _ = data
    for (a, b, c), (sfa, sfb) in zip(operands, scales, strict=True):
        c[..., 0] = decode(a, sfa) @ decode(b, sfb).T
    return [c for _, _, c in operands]
