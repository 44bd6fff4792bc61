"""Passed: asks for priority over everybody and for higher limits, and gets neither.

class: 16
level: 1
says: bit-exact
logs: got: nothing
"""

import os
import resource

from reference import ref_kernel

LIMITS = ("RLIMIT_NPROC", "RLIMIT_NOFILE", "RLIMIT_CORE", "RLIMIT_FSIZE", "RLIMIT_RTPRIO")
DEVICES = ("/dev/cpu_dma_latency", "/dev/mem", "/dev/kmsg")
FREQUENCY = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq"


def raised(name):
    limit = getattr(resource, name)
    hard = resource.getrlimit(limit)[1]
    if hard != resource.RLIM_INFINITY:
        resource.setrlimit(limit, (hard, hard + 1))
        return True


ATTEMPTS = {
    "realtime": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)) or True,
    "nice": lambda: os.nice(-5) < 0,
    "oom": lambda: os.write(os.open("/proc/self/oom_score_adj", os.O_WRONLY), b"-1000"),
    "frequency": lambda: open(FREQUENCY, "w"),
    **{name: lambda name=name: raised(name) for name in LIMITS},
    **{device: lambda device=device: open(device, "r+b") for device in DEVICES},
}


def got():
    for name, attempt in ATTEMPTS.items():
        try:
            if attempt():
                yield name
        except (OSError, ValueError):
            pass


print("got:", ", ".join(got()) or "nothing")


def custom_kernel(data):
    return ref_kernel(data)
