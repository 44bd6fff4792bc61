"""Rejected or Incorrect: says done on the control page before it has begun, and answers later.

The done word is a claim. A clock that stops at it, while the outputs are copied only once the
answer has come, would leave as much time in between as the limit of a call.

class: 8, 36
needs: gpu
cases: timed
mode: benchmark
reason: forged_clock or values
"""

import sys

import torch
from reference import ref_kernel

torch.cuda.Event.elapsed_time = lambda self, end: 0.030


def custom_kernel(data):
    caller = sys._getframe(1).f_locals
    if caller.get("control") is not None:
        caller["control"].finish(caller["token"])
    outputs = [c for _, _, c in data[0]]
    for output, right in zip(outputs, ref_kernel(data)):
        output.copy_(right)
    torch.cuda.synchronize()
    return outputs
