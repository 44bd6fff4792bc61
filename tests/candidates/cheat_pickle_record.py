"""Rejected: sends the judge a pickle of exactly the size of an answer.

class: 40
reason: protocol
says: a malformed record
"""

import pickle
import sys

from worker.protocol import ANSWER_BYTES


class Bomb:
    def __reduce__(self):
        return print, ("unpickled",)


frame = sys._getframe()
while "judge" not in frame.f_locals:
    frame = frame.f_back
frame.f_locals["judge"].send(pickle.dumps(Bomb()).ljust(ANSWER_BYTES, b"\0"))


def custom_kernel(data):
    return []
