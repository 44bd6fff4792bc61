"""Rejected: works on a stream of its own, which the events on the current one do not see.

class: 4
needs: gpu
cases: timed
mode: benchmark
reason: forged_clock or below_floor
"""

import torch
from kernels.portable_gemm import custom_kernel as honest

SIDE = torch.cuda.Stream()


def custom_kernel(data):
    with torch.cuda.stream(SIDE):
        return honest(data)
