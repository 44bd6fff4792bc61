"""Incorrect: returns a tensor subclass that computes when it is looked at.

class: 6
reason: type
says: expected exactly torch.Tensor
"""

import torch
from reference import ref_kernel


class Lazy(torch.Tensor):
    pass


def custom_kernel(data):
    return [output.as_subclass(Lazy) for output in ref_kernel(data)]
