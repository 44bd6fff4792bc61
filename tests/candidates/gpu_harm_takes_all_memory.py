"""Passed or OutOfMemory: takes all device memory that is left and keeps it.

Whatever the judge needs has to be its own beforehand, or the fault has to be the candidate's: it
must never be a fault of the judge, which would give the job a second try.

class: 55
needs: gpu
cases: timed
reason: allocation or device
"""

import torch
from reference import ref_kernel

hoard = []
for piece_bytes in (4 << 30, 256 << 20, 16 << 20, 2 << 20):
    try:
        while True:
            hoard.append(torch.empty(piece_bytes, dtype=torch.uint8, device="cuda"))
    except torch.OutOfMemoryError:
        pass
for _ in range(40):
    hoard.pop()


def custom_kernel(data):
    return ref_kernel(data)
