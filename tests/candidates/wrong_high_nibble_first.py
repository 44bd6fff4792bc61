"""Incorrect: takes the high nibble of A for the even k.

Doing so in both operands would only permute k inside a block, and be right.

reason: values
says: outside the bound
"""

import torch
from reference import ref_kernel


def swapped(packed):
    codes = packed.view(torch.uint8)
    return ((codes << 4) | (codes >> 4)).view(packed.dtype)


def custom_kernel(data):
    operands, scales, reordered, sizes = data
    return ref_kernel(([(swapped(a), b, c) for a, b, c in operands], scales, reordered, sizes))
