"""Incorrect: hands the work to a thread and returns at once; the thread writes a second later.

class: 5
reason: values
says: this element was never written
"""

import threading
import time

from reference import ref_kernel


def write_later(data):
    outputs = ref_kernel(data)
    time.sleep(1)
    for (_, _, c), output in zip(data[0], outputs):
        c.copy_(output)


def custom_kernel(data):
    threading.Thread(target=write_later, args=(data,), daemon=True).start()
    return [c for _, _, c in data[0]]
