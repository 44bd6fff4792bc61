"""Rejected or Incorrect: launches its work as soon as it sees operands arrive, before the call is released.

A thread sees the linear scales appear in host memory and launches at once, on a stream of its own.
When the call comes it only fills the time that a fast kernel would take. Its work still waits for
the device, which the judge has, and what the judge's clock sees of it the events do not.

class: 9
needs: gpu
cases: timed
mode: benchmark
reason: values or resident_kernel or forged_clock or below_floor
"""

import sys
import threading

import torch
from kernels.portable_gemm import custom_kernel as honest

SIDE = torch.cuda.Stream()
launched = threading.Event()


def watch(main):
    seen = None
    before = b""
    while True:
        frame = sys._current_frames().get(main)
        data = None
        while frame is not None and data is None:
            data = frame.f_locals.get("data") if "control" in frame.f_locals else None
            frame = frame.f_back
        if data is None or data is seen:
            continue
        scales = data[1][0][0].view(torch.uint8)
        first = bytes(scales.flatten()[:4096].tolist())
        if first == before or not any(first):
            continue
        seen, before = data, first
        with torch.cuda.stream(SIDE):
            honest(data)
        launched.set()


threading.Thread(target=watch, args=(threading.main_thread().ident,), daemon=True).start()


def custom_kernel(data):
    launched.wait(1)
    launched.clear()
    return [c for _, _, c in data[0]]
