"""Incorrect: looks at the first 256 elements along k only.

class: 28
reason: values
says: outside the bound
"""

import torch
from reference import ref_kernel


def custom_kernel(data):
    operands, scales, reordered, sizes = data
    short = [(a[:, :128], b[:, :128], c) for a, b, c in operands]
    blocks = [(sfa[:, :16], sfb[:, :16]) for sfa, sfb in scales]
    return ref_kernel((short, blocks, reordered, sizes))
