"""Incorrect: takes whatever lies in the shared memory outside its own slot for the answer.

class: 26
reason: values
says: outside the bound
"""

import sys

import torch


def custom_kernel(data):
    frame = sys._getframe(1)
    while "device" not in frame.f_locals:
        frame = frame.f_back
    memory = frame.f_locals["device"]
    outputs = [c for _, _, c in data[0]]
    begin = min(a.data_ptr() for a, _, _ in data[0]) - memory.data_ptr()
    end = max(c.data_ptr() + 2 * c.numel() for c in outputs) - memory.data_ptr()
    end += -end % 2
    foreign = torch.cat([memory[: begin // 2 * 2], memory[end:]])
    found = foreign[: foreign.numel() // 2 * 2].view(torch.float16)
    found = found[found != 0]
    for c in outputs:
        c.zero_()
        if found.numel() >= c.numel():
            c.copy_(found[: c.numel()].view(c.shape))
    return outputs
