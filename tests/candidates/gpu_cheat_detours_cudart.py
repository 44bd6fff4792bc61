"""Rejected: overwrites the machine code of cudaEventElapsedTime.

A check of Python's objects would find nothing; the judge's clock is in another process.

class: 2
needs: gpu
cases: timed
mode: benchmark
reason: forged_clock
says: are unexplained
"""

import ctypes
import mmap
import re
import struct

import torch
from reference import ref_kernel

MILLISECONDS = 0.030
READ_WRITE_EXECUTE = 7


def detour():
    torch.cuda.Event(enable_timing=True).record()
    with open("/proc/self/maps") as maps:
        library = ctypes.CDLL(re.search(r"\S+libcudart\S+", maps.read()).group())
    # mov dword [rdi], MILLISECONDS; xor eax, eax; ret
    code = b"\xc7\x07" + struct.pack("<f", MILLISECONDS) + b"\x31\xc0\xc3"
    for name in ("cudaEventElapsedTime", "cudaEventElapsedTime_v2"):
        if hasattr(library, name):
            address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
            page = ctypes.c_void_p(address & -mmap.PAGESIZE)
            ctypes.CDLL(None).mprotect(page, 2 * mmap.PAGESIZE, READ_WRITE_EXECUTE)
            ctypes.memmove(address, code, len(code))


detour()


def custom_kernel(data):
    return ref_kernel(data)
