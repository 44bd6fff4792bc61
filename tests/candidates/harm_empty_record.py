"""Rejected: sends a record of no bytes, which reads like the end of the socket, and stays.

class: 40
reason: protocol
says: closed its socket and stayed
"""

import sys
import time

frame = sys._getframe()
while "judge" not in frame.f_locals:
    frame = frame.f_back
frame.f_locals["judge"].send(b"")
while True:
    time.sleep(60)


def custom_kernel(data):
    return []
