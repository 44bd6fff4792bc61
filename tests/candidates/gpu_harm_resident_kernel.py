"""Rejected: leaves a kernel spinning between its calls, to see the operands come.

class: 9, 56
needs: gpu
cases: timed
mode: benchmark
reason: resident_kernel
says: the device was in use outside of a call
"""

import torch
import triton
import triton.language as tl
from reference import ref_kernel

SIDE = torch.cuda.Stream()
torch.cuda.synchronize = lambda device=None: torch.cuda.current_stream().synchronize()
word = torch.zeros(1, dtype=torch.int32, device="cuda")
started = False


@triton.jit
def spin(word, count):
    total = tl.load(word, volatile=True)
    while total < count:
        total += 1 + tl.load(word, volatile=True)


def custom_kernel(data):
    global started
    outputs = ref_kernel(data)
    torch.cuda.current_stream().synchronize()
    if not started:
        started = True
        with torch.cuda.stream(SIDE):
            spin[(1,)](word, 1 << 30)
    return outputs
