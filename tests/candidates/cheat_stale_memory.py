"""Incorrect: returns fresh memory, in case the right answer has just been freed there.

class: 20
reason: values
says: outside the bound
"""

import torch


def custom_kernel(data):
    return [torch.empty(c.shape, dtype=c.dtype) for _, _, c in data[0]]
