"""Rejected: keeps the device switched to its own context, and forges the events by what that saves.

The overhead that is taken off the judge's clock is mostly one switch between contexts. Tiny kernels
launched all the time between calls would have it happen before the release, so that some 140
microseconds of a forged event would look explained.

class: 1, 9
needs: gpu
cases: timed
mode: benchmark
reason: resident_kernel or forged_clock
"""

import threading

import torch
from reference import ref_kernel

SAVED_US = 130
honest = torch.cuda.Event.elapsed_time
torch.cuda.Event.elapsed_time = lambda self, end: max(0.030, honest(self, end) - SAVED_US / 1e3)
between = threading.Event()
between.set()


def keep_hot():
    side = torch.cuda.Stream()
    word = torch.zeros(1, device="cuda")
    with torch.cuda.stream(side):
        while between.wait():
            word.add_(1)
            side.synchronize()


threading.Thread(target=keep_hot, daemon=True).start()


def custom_kernel(data):
    between.clear()
    try:
        return ref_kernel(data)
    finally:
        between.set()
