"""Incorrect: a child process, which shares the arena, writes the outputs after the answer.

class: 8
reason: values
says: this element was never written
"""

import os
import time

from reference import ref_kernel


def custom_kernel(data):
    outputs = ref_kernel(data)
    if os.fork() == 0:
        time.sleep(1)
        for (_, _, c), output in zip(data[0], outputs):
            c.copy_(output)
        os._exit(0)
    return [c for _, _, c in data[0]]
