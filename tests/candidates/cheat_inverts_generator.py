"""Incorrect: finds the seed of its first operands by trying, to know those of all later calls.

It knows the generator and how seeds are derived, and tries the first of 2^128 keys for two seconds.

class: 24
reason: values
says: outside the bound
"""

import time

import torch
from kernels.operands import draw
from kernels.problem import Case

TRYING_S = 2
known = []


def search(case, wanted):
    deadline_s = time.monotonic() + TRYING_S
    seed = 0
    while time.monotonic() < deadline_s:
        if torch.equal(draw(case, seed, "official")[0].a, wanted):
            return seed
        seed += 1


def custom_kernel(data):
    m, n, k, _ = data[3][0]
    if not known:
        wanted = data[0][0][0][..., 0].view(torch.uint8).cpu()
        known.append(search(Case(m=(m,), n=(1,), k=(k,)), wanted))
    assert known == [None], "the seed was found"
    return [torch.zeros_like(c) for _, _, c in data[0]]
