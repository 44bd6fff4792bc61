"""Rejected: works on a stream of its own, which the events on the current one do not see.

class: 4
needs: gpu
cases: timed
mode: benchmark
reason: forged_clock or below_floor
"""

import torch
from reference import ref_kernel

SIDE = torch.cuda.Stream()


def custom_kernel(data):
    outputs = [c for _, _, c in data[0]]
    with torch.cuda.stream(SIDE):
        for output, right in zip(outputs, ref_kernel(data)):
            output.copy_(right)
    torch.cuda._sleep(60_000)
    return outputs
