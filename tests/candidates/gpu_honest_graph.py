"""Passed: replays a graph over buffers of its own, into which it copies the operands of each call.

needs: gpu
cases: timed
mode: benchmark
says: bit-exact
"""

import torch

MAGNITUDES = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
VALUES = torch.cat([MAGNITUDES, -MAGNITUDES]).cuda()
kept = {}


def bytes_of(data):
    for (a, b, _), scales in zip(data[0], data[1]):
        yield from (tensor[..., 0].view(torch.uint8) for tensor in (a, b, *scales))


def decode(codes, scales):
    nibbles = torch.stack([codes & 15, codes >> 4], dim=-1).flatten(1)
    scale = scales.view(torch.float8_e4m3fn).float()
    return VALUES[nibbles.int()] * scale.repeat_interleave(16, dim=1)


def compute(own):
    groups = zip(*[iter(own)] * 4)
    return [(decode(a, sfa) @ decode(b, sfb).T).half() for a, b, sfa, sfb in groups]


def captured(data):
    own = [tensor.to("cuda", copy=True).contiguous() for tensor in bytes_of(data)]
    compute(own)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outputs = compute(own)
    return graph, own, outputs


def custom_kernel(data):
    key = str(data[3])
    if key not in kept:
        kept[key] = captured(data)
    graph, own, outputs = kept[key]
    for ours, given in zip(own, bytes_of(data)):
        ours.copy_(given)
    graph.replay()
    for (_, _, c), output in zip(data[0], outputs):
        c[..., 0] = output
    return [c for _, _, c in data[0]]
