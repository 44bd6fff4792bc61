"""Incorrect: flushes subnormal block scales to zero, which official operands never have.

class: 30
reason: values
says: on full_range operands
"""

import torch
from reference import ref_kernel


def flushed(scales):
    codes = scales.view(torch.uint8)
    return torch.where(codes < 8, torch.zeros_like(codes), codes).view(scales.dtype)


def custom_kernel(data):
    operands, scales, reordered, sizes = data
    return ref_kernel((operands, [(flushed(a), flushed(b)) for a, b in scales], reordered, sizes))
