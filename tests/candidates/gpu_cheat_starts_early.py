"""Rejected: computes as soon as the operands are staged, before the call is released.

A thread sees the linear scales appear in host memory, waits until the rest must have been copied,
and computes. When the call comes, the outputs are there, and it only fills the time that a fast
kernel would take.

class: 9
needs: gpu
cases: timed
mode: benchmark
reason: resident_kernel or below_floor
"""

import sys
import threading
import time

import torch
from reference import ref_kernel

SIDE = torch.cuda.Stream()
STAGED_S = 0.0212
"""From the scales to the end of the flush: the judge keeps the device busy in between."""
done = threading.Event()


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
        time.sleep(STAGED_S)
        with torch.cuda.stream(SIDE):
            for (_, _, c), right in zip(data[0], ref_kernel(data)):
                c.copy_(right)
        SIDE.synchronize()
        done.set()


threading.Thread(target=watch, args=(threading.main_thread().ident,), daemon=True).start()


def custom_kernel(data):
    done.wait(1)
    done.clear()
    torch.cuda._sleep(60_000)
    return [c for _, _, c in data[0]]
