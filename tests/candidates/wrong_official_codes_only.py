"""Incorrect: knows only the eight codes and two scales that official operands have.

class: 30
reason: values
says: on full_range operands
"""

import torch
from reference import ref_kernel


def narrowed(packed):
    return (packed.view(torch.uint8) & 0xBB).view(packed.dtype)


def custom_kernel(data):
    operands, scales, reordered, sizes = data
    narrow = [(narrowed(a), narrowed(b), c) for a, b, c in operands]
    return ref_kernel((narrow, scales, reordered, sizes))
