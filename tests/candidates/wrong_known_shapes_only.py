"""Incorrect: has a table of the official sizes and nothing for any other.

class: 31
reason: values
says: outside the bound
"""

import torch
from reference import ref_kernel

KNOWN = {(4096, 7168), (7168, 2048), (3072, 4096), (4096, 1536)}


def custom_kernel(data):
    if all((n, k) in KNOWN for _, n, k, _ in data[3]):
        return ref_kernel(data)
    return [torch.zeros_like(c) for _, _, c in data[0]]
