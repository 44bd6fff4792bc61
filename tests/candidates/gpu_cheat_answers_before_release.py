"""Rejected: never says that it is awake, computes, and answers a call that was not released.

An answer in this place must be a breach of the protocol: no clock has run for it.

class: 9, 36
needs: gpu
cases: timed
mode: benchmark
reason: protocol
"""

import sys

import __main__
import torch
from reference import ref_kernel
from worker.protocol import Answer, Status

CLAIMED_US = 30.0


def answer_early(self):
    frame = sys._getframe(1)
    if "token" not in frame.f_locals:
        return
    main = frame.f_back.f_locals
    data, token = frame.f_locals["data"], frame.f_locals["token"]
    while True:
        for (_, _, c), right in zip(data[0], ref_kernel(data)):
            c.copy_(right)
        torch.cuda.synchronize()
        main["judge"].send(Answer(token, Status.DONE, event_us=CLAIMED_US).pack())
        data, token = next_call(main)


def next_call(main):
    """Do what the runner does, and wait until the operands must be there."""
    call = __main__.Call.unpack(main["judge"].recv(__main__.CALL_BYTES))
    layout = __main__.read_layout(
        main["problem"], main["mapping"], call.host_offset, call.groups
    )
    place = __main__.Place(call.host_offset, call.device_offset)
    slot = __main__.Slot.over(main["host"], main["device"], place, layout)
    while main["control"].woken() != call.token:
        pass
    return __main__.handed_over(layout.problem, slot.groups)[0], call.token


__main__.Stopwatch.warm_up = answer_early


def custom_kernel(data):
    return ref_kernel(data)
