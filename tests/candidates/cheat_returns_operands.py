"""Incorrect: returns memory of its operands, seen as float16, for outputs.

class: 21
reason: values
says: outside the bound
"""

import torch


def custom_kernel(data):
    outputs = []
    for a, b, c in data[0]:
        given = torch.cat([a.view(torch.uint8).flatten(), b.view(torch.uint8).flatten()])
        halves = given[: given.numel() // 2 * 2].view(torch.float16)
        times = -(-c.numel() // halves.numel())
        outputs.append(halves.repeat(times)[: c.numel()].view(c.shape))
    return outputs
