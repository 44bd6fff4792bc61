"""Crashed: a kernel stores 1 TiB behind its output.

class: 57
needs: gpu
cases: timed
reason: exception
says: illegal memory access
"""

import torch
import triton
import triton.language as tl


@triton.jit
def store_far_away(c, distance):
    tl.store(c + distance, 1.0)


def custom_kernel(data):
    outputs = [c for _, _, c in data[0]]
    store_far_away[(1,)](outputs[0], 1 << 39)
    torch.cuda.synchronize()
    return outputs
