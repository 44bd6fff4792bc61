"""Passed: asks for its operands to persist in the L2 cache, and is no faster for it.

The judge writes other operands to another place of the arena before each call, resets what
persists, and then writes more than the cache holds.

class: 11
needs: gpu
cases: timed
mode: benchmark
says: bit-exact
"""

import ctypes
import re

import torch
from reference import ref_kernel

PERSISTING_L2_LIMIT = 6
ACCESS_POLICY_WINDOW = 1
PERSIST = 2


class Window(ctypes.Structure):
    _fields_ = [
        ("base", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("ratio", ctypes.c_float),
        ("hit", ctypes.c_int),
        ("miss", ctypes.c_int),
        ("rest", ctypes.c_byte * 64),
    ]


torch.zeros(1, device="cuda")
with open("/proc/self/maps") as maps:
    RUNTIME = ctypes.CDLL(re.search(r"\S+libcudart\S+", maps.read()).group())
RUNTIME.cudaDeviceSetLimit(PERSISTING_L2_LIMIT, ctypes.c_size_t(32 << 20))


def custom_kernel(data):
    b = data[0][0][1]
    window = Window(b.data_ptr(), b.numel(), 1.0, PERSIST, 1)
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    RUNTIME.cudaStreamSetAttribute(stream, ACCESS_POLICY_WINDOW, ctypes.byref(window))
    return ref_kernel(data)
