"""Incorrect: searches device memory for an answer that somebody has left there.

class: 26, 20
needs: gpu
cases: timed
reason: values
"""

import torch


def custom_kernel(data):
    outputs = [c for _, _, c in data[0]]
    free, _ = torch.cuda.mem_get_info()
    left = torch.empty(max(free - (4 << 30), 1 << 30) // 2, dtype=torch.float16, device="cuda")
    for output in outputs:
        output.zero_()
        size = output.numel()
        for start in range(0, min(left.numel(), 1 << 30) - size, size):
            found = left[start : start + size]
            if found[:64].count_nonzero() > 32:
                output.copy_(found.view(output.shape))
                break
    del left
    return outputs
