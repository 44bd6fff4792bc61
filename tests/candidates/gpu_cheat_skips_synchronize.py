"""Rejected or Incorrect: answers while its kernels still run, and forges the events to match.

Without a synchronisation the done word comes at once, so a clock that stops at that word sees
nothing. What has to count is when the judge holds the outputs: its copy waits for the kernels on a
device that takes turns (and then the time is the true one), or overtakes them (and then it is
incomplete).

class: 1, 8
needs: gpu
cases: timed
mode: benchmark
reason: forged_clock or values
"""

import torch
from reference import ref_kernel

torch.cuda.synchronize = lambda device=None: None
torch.cuda.Event.elapsed_time = lambda self, end: 0.030


def custom_kernel(data):
    return ref_kernel(data)
