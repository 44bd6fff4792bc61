"""Incorrect: hands the work to a thread that launches it once the call has returned.

class: 5
needs: gpu
cases: timed
reason: values
says: never written
"""

import threading
import time

from reference import ref_kernel


def write_later(data):
    time.sleep(1)
    for (_, _, c), right in zip(data[0], ref_kernel(data)):
        c.copy_(right)


def custom_kernel(data):
    threading.Thread(target=write_later, args=(data,), daemon=True).start()
    return [c for _, _, c in data[0]]
