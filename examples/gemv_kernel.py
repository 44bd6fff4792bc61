"""A batch of matrices times vectors in plain PyTorch: slow, and the shortest statement of the task.

C[z] = (A[z] * SFA[z]) @ (b[z] * SFB[z])      for every z below l

halfbyte submit examples/gemv_kernel.py --problem nvfp4_gemv --m 512 --n 1 --k 1536 --l 2
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
    """Write C [m, 1, l] and return it. b has 128 rows, of which the first is the vector."""
    a, b, sfa, sfb, _, _, c = data
    for z in range(c.shape[2]):
        vector = decode(b[:1, :, z], sfb[:1, :, z])
        c[..., z] = decode(a[..., z], sfa[..., z]) @ vector.T
    return c
