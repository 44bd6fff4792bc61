"""Rejected: answers with a duration that is no number, so that every comparison with it is false.

class: 13
reason: protocol
says: a duration that is none
"""

import math
import sys

from reference import ref_kernel
from worker.protocol import Answer, Status


def custom_kernel(data):
    for (_, _, c), output in zip(data[0], ref_kernel(data)):
        c.copy_(output)
    caller = sys._getframe(1)
    answer = Answer(caller.f_locals["token"], Status.DONE, event_us=math.nan)
    caller.f_back.f_locals["judge"].send(answer.pack())
    return [c for _, _, c in data[0]]
