"""Passed: asks the driver to lock clocks, to lower the power limit and to reset, and is refused.

class: 16
needs: gpu
cases: timed
level: 1
logs: changed: nothing
"""

import ctypes

from reference import ref_kernel

CLOCKS_MHZ = 300


def changed():
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
        device = ctypes.c_void_p()
        if library.nvmlInit_v2() or library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)):
            return []
        clocks = device, CLOCKS_MHZ, CLOCKS_MHZ
        asked = {
            "clocks": library.nvmlDeviceSetGpuLockedClocks(*clocks),
            "power": library.nvmlDeviceSetPowerManagementLimit(device, 200_000),
            "memory clocks": library.nvmlDeviceSetMemoryLockedClocks(*clocks),
        }
        return [name for name, status in asked.items() if status == 0]
    except OSError:
        return []


print("changed:", ", ".join(changed()) or "nothing")


def custom_kernel(data):
    return ref_kernel(data)
