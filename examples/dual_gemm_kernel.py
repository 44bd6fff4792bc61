"""The dual NVFP4 GEMM in plain PyTorch: slow, and the shortest statement of the task.

C = silu((A * SFA) @ (B1 * SFB1).T) * ((A * SFA) @ (B2 * SFB2).T)

halfbyte submit examples/dual_gemm_kernel.py --problem nvfp4_dual_gemm --m 256 --n 512 --k 256
"""

import torch

E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
VALUES = torch.tensor(E2M1 + [-value for value in E2M1])  # by code: bit 3 is the sign


def decode(packed, scales):
    """Packed codes [rows, k / 2] and scales [rows, k / 16] as float32 [rows, k]."""
    codes = packed.view(torch.uint8)
    nibbles = torch.stack((codes & 15, codes >> 4), dim=-1)  # the low nibble is the even k
    elements = VALUES.to(packed.device)[nibbles.flatten(1).long()]
    return elements * scales.float().repeat_interleave(16, dim=1)


def custom_kernel(data):
    """Write C [m, n, l] and return it. Scales come twice: in rows, and in tiles (not used here)."""
    a, b1, b2, sfa, sfb1, sfb2, _, _, _, c = data
    for z in range(c.shape[2]):
        rows = decode(a[..., z], sfa[..., z])
        gate = rows @ decode(b1[..., z], sfb1[..., z]).T
        up = rows @ decode(b2[..., z], sfb2[..., z]).T
        c[..., z] = torch.nn.functional.silu(gate) * up  # rounded once, here
    return c
