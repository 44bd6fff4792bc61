"""A grouped GEMM on NVFP4 operands in plain PyTorch: slow, and the shortest statement of the task.

halfbyte submit examples/torch_kernel.py --m 96,128 --n 128,256 --k 256,512
"""

import torch

E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
VALUES = torch.tensor(E2M1 + [-value for value in E2M1])  # by code: bit 3 is the sign


def decode(packed, scales):
    """Packed codes [rows, k / 2, 1] and scales [rows, k / 16, 1] as float32 [rows, k]."""
    codes = packed.view(torch.uint8).squeeze(-1)
    nibbles = torch.stack((codes & 15, codes >> 4), dim=-1)  # the low nibble is the even k
    elements = VALUES.to(packed.device)[nibbles.flatten(1).long()]
    # Scales in rows are in host memory; every one belongs to 16 elements along k.
    scale = scales.squeeze(-1).to(packed.device, torch.float32)
    return elements * scale.repeat_interleave(16, dim=1)


def custom_kernel(data):
    """Write every group's C [m, n, 1] and return them in order."""
    operands, scales, _, _ = data
    for (a, b, c), (a_scale, b_scale) in zip(operands, scales, strict=True):
        c.squeeze(-1).copy_(decode(a, a_scale) @ decode(b, b_scale).T)
    return [c for _, _, c in operands]
