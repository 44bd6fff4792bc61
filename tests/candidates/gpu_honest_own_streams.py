"""Passed: a stream a group, each waiting for the current one and waited for by it.

needs: gpu
cases: timed
mode: benchmark
says: bit-exact
"""

import torch
from reference import ref_kernel

streams = []


def custom_kernel(data):
    operands, scales, reordered, sizes = data
    current = torch.cuda.current_stream()
    while len(streams) < len(operands):
        streams.append(torch.cuda.Stream())
    for group, stream in enumerate(streams[: len(operands)]):
        stream.wait_stream(current)
        with torch.cuda.stream(stream):
            one = slice(group, group + 1)
            (right,) = ref_kernel((operands[one], scales[one], reordered[one], sizes[one]))
            operands[group][2].copy_(right)
            right.record_stream(stream)
    for stream in streams[: len(operands)]:
        current.wait_stream(stream)
    return [c for _, _, c in operands]
