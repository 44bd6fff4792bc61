"""Incorrect: captures its first call as a graph and replays it, with the pointers of that call.

class: 12
needs: gpu
cases: timed
reason: values or inputs_modified
"""

import torch

MAGNITUDES = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
VALUES = torch.cat([MAGNITUDES, -MAGNITUDES]).cuda()
graphs = {}


def decode(packed, scales):
    codes = packed[..., 0].contiguous().view(torch.uint8)
    nibbles = torch.stack([codes & 15, codes >> 4], dim=-1).flatten(1)
    return VALUES[nibbles.int()] * scales[..., 0].float().repeat_interleave(16, dim=1)


def compute(operands, scales):
    for (a, b, c), (sfa, sfb) in zip(operands, scales):
        c[..., 0] = (decode(a, sfa) @ decode(b, sfb).T).half()


def custom_kernel(data):
    operands = data[0]
    key = str(data[3])
    if key not in graphs:
        scales = [(a.cuda(), b.cuda()) for a, b in data[1]]
        compute(operands, scales)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            compute(operands, scales)
        graphs[key] = graph, scales
    graphs[key][0].replay()
    return [c for _, _, c in operands]
