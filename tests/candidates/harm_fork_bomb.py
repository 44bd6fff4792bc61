"""Passed: forks until the kernel refuses, keeps all of them, and then answers rightly.

class: 50
level: 2
says: bit-exact
logs: refused after
"""

import os
import time

from reference import ref_kernel

MOST = 2000


def forked():
    for number in range(MOST):
        try:
            if os.fork() == 0:
                while True:
                    time.sleep(60)
        except OSError:
            return f"refused after {'too many' if number > 300 else 'a few'}"
    return "never refused"


outcome = forked()
print(outcome)


def custom_kernel(data):
    return ref_kernel(data)
