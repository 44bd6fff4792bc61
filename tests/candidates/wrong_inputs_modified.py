"""Incorrect: zeroes A, so that a reference computed afterwards would be zero as well.

class: 22
reason: inputs_modified
says: group 0: a was changed
"""

import torch


def custom_kernel(data):
    outputs = [c for _, _, c in data[0]]
    for a, _, c in data[0]:
        a.view(torch.uint8).zero_()
        c.zero_()
    return outputs
