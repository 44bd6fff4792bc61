"""TimedOut: stops and kills whatever it can send a signal to, and then waits for ever.

class: 53
reason: call_limit
says: no answer within
"""

import os
import signal
import time

for number in (signal.SIGSTOP, signal.SIGKILL):
    for pid in [os.getppid(), *range(1, 70_000)]:
        if pid != os.getpid():
            try:
                os.kill(pid, number)
            except OSError:
                pass


def custom_kernel(data):
    while True:
        time.sleep(60)
