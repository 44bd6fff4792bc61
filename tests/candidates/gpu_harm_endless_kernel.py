"""TimedOut: launches a kernel that spins until a word changes, and nobody changes it.

class: 56
needs: gpu
cases: timed
reason: call_limit
says: no answer within
"""

import torch
import triton
import triton.language as tl


@triton.jit
def spin(word):
    value = tl.load(word, volatile=True)
    while value == 0:
        value = tl.load(word, volatile=True)


def custom_kernel(data):
    spin[(1,)](torch.zeros(1, dtype=torch.int32, device="cuda"))
    return [c for _, _, c in data[0]]
