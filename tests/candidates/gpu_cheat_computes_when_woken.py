"""Incorrect or Rejected: computes the whole answer when it is woken, before the clock starts.

Whatever is in the arena when the runner may touch the device can be computed then, in nobody's
time. Operands may therefore be copied there only after the last time that it may.

class: 9
needs: gpu
cases: timed
mode: benchmark
reason: values or resident_kernel
"""

import sys

import __main__
import torch
from reference import ref_kernel

honest = __main__.Stopwatch.warm_up


def compute_early(self):
    data = sys._getframe(1).f_locals.get("data")
    if data is not None:
        for (_, _, c), right in zip(data[0], ref_kernel(data)):
            c.copy_(right)
        torch.cuda.synchronize()
    honest(self)


__main__.Stopwatch.warm_up = compute_early


def custom_kernel(data):
    torch.cuda._sleep(60_000)
    return [c for _, _, c in data[0]]
