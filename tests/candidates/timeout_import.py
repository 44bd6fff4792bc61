"""TimedOut: never finishes its import, ignores SIGTERM, and leaves a child.

class: 53
reason: import_limit
says: no answer within
"""

import os
import signal
import time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
while True:
    time.sleep(60)


def custom_kernel(data):
    return []
