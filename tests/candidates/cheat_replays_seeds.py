"""Incorrect: draws operands from every seed that a judge might have used, and looks for its own.

class: 23
reason: values
says: outside the bound
"""

import random

import torch
from reference import generate_input, ref_kernel

SEEDS = [*range(64), 1111, 42**2, 1 << 31, torch.initial_seed(), random.getrandbits(16)]


def custom_kernel(data):
    operands, _, _, sizes = data
    m, n, k, _ = (list(extents) for extents in zip(*sizes))
    for seed in SEEDS:
        drawn = generate_input(m, n, k, seed=seed & (1 << 128) - 1)
        if torch.equal(drawn[0][0][0].view(torch.uint8), operands[0][0].view(torch.uint8).cpu()):
            return [output.to(operands[0][2].device) for output in ref_kernel(drawn)]
    return [torch.zeros_like(c) for _, _, c in operands]
