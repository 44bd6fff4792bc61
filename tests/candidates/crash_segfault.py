"""Crashed: writes to address zero.

reason: signal
says: SIGSEGV
"""

import ctypes


def custom_kernel(data):
    ctypes.memset(0, 1, 1)
