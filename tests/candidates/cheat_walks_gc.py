"""Incorrect: searches all objects and all callers' variables for a tensor that might be expected.

class: 25
reason: values
says: outside the bound
"""

import gc
import sys

import torch


def reachable():
    frame = sys._getframe(1)
    while frame is not None:
        yield from list(frame.f_locals.values())
        frame = frame.f_back
    yield from gc.get_objects()


def custom_kernel(data):
    outputs = [c for _, _, c in data[0]]
    given = {c.data_ptr() for c in outputs}
    shapes = {tuple(c.shape): c for c in outputs} | {tuple(c.shape[:2]): c for c in outputs}
    for c in outputs:
        c.zero_()
    for thing in reachable():
        if type(thing) is torch.Tensor and tuple(thing.shape) in shapes:
            if thing.is_floating_point() and thing.data_ptr() not in given:
                target = shapes[tuple(thing.shape)]
                target.copy_(thing.view(target.shape))
    return outputs
