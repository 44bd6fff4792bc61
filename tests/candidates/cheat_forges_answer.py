"""Rejected: finds the judge's socket and answers before it was asked.

class: 35
reason: protocol
says: answer to no call
"""

import os
import socket

from worker.protocol import Answer, Status

for fd in range(3, 64):
    try:
        judge = socket.socket(fileno=os.dup(fd))
        judge.send(Answer(0, Status.IMPORTED).pack())
        for token in range(8):
            judge.send(Answer(token, Status.DONE, event_us=0.001).pack())
    except OSError:
        pass


def custom_kernel(data):
    return []
