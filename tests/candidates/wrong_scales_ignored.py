"""Incorrect: takes every block scale for 1.

reason: values
says: outside the bound
"""

import torch
from reference import ref_kernel


def custom_kernel(data):
    operands, scales, reordered, sizes = data
    ones = [(torch.ones_like(a.float()), torch.ones_like(b.float())) for a, b in scales]
    as_bytes = [(a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn)) for a, b in ones]
    return ref_kernel((operands, as_bytes, reordered, sizes))
