"""Rejected: its events say zero, by which nothing can be divided.

class: 13
needs: gpu
cases: timed
mode: benchmark
reason: forged_clock
says: are unexplained
"""

import torch
from reference import ref_kernel

torch.cuda.Event.elapsed_time = lambda self, end: 0.0


def custom_kernel(data):
    return ref_kernel(data)
