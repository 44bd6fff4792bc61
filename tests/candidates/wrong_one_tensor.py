"""Incorrect: returns one tensor for all groups.

reason: type
says: custom_kernel returned one tensor
"""

import torch
from reference import ref_kernel


def custom_kernel(data):
    return torch.cat([output.flatten() for output in ref_kernel(data)])
