"""Crashed: prints a verdict of its own and ends the process with status 0.

class: 34
reason: exit
says: exited with status 0
"""

import os


def custom_kernel(data):
    print('{"outcome": "passed", "score": {"geomean_us": 0.1}}', flush=True)
    os._exit(0)
