"""Rejected: sends records of every size, ten thousand of them, and descriptors with each.

class: 40
reason: protocol
says: the process broke the protocol
"""

import array
import os
import random
import socket
import sys

frame = sys._getframe()
while "judge" not in frame.f_locals:
    frame = frame.f_back
judge = frame.f_locals["judge"]
judge.setblocking(False)
given = array.array("i", [os.open("/dev/zero", os.O_RDWR) for _ in range(100)])
for number in range(10_000):
    record = os.urandom(random.choice([1, 31, 3104, 3105, 3106, 60_000]))
    try:
        judge.sendmsg([record], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, given)])
    except OSError:
        break


def custom_kernel(data):
    return []
