"""Passed: Triton in the competition's style.

Host descriptors of three and five dimensions, launch metadata, a configuration bound beforehand,
device properties, one launch a group.

says: bit-exact
"""

import functools

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


def _metadata(grid, kernel, args):
    return {"name": f"{kernel.name} {args['k']}", "flops": 2.0 * args["m"] * args["n"] * args["k"]}


class _Bound:
    def __init__(self, kernel, **options):
        self.kernel = kernel
        self.options = options

    def __getitem__(self, grid):
        return functools.partial(self.kernel[grid], **self.options)


@triton.jit(launch_metadata=_metadata)
def _kernel(a, sfa, b, sfb, c, stride, m, n, k, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    tiles_m = tl.cdiv(m, BLOCK)
    for tile in tl.range(
        tl.program_id(0), tiles_m * tl.cdiv(n, BLOCK), tl.num_programs(0), flatten=True
    ):
        row_tile = tile % tiles_m
        col_tile = tile // tiles_m
        acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
        for step in tl.range(0, tl.cdiv(k, BLOCK_K)):
            pairs_a = a.load([row_tile * BLOCK, 0, step * BLOCK_K // 2])
            pairs_b = b.load([col_tile * BLOCK, 0, step * BLOCK_K // 2])
            scale_a = sfa.load([0, row_tile, step * BLOCK_K // 64, 0, 0])
            scale_b = sfb.load([0, col_tile, step * BLOCK_K // 64, 0, 0])
            scale_a = scale_a.reshape(1, BLOCK_K // 64, 32, 4, 4).trans(0, 3, 2, 1, 4)
            scale_b = scale_b.reshape(1, BLOCK_K // 64, 32, 4, 4).trans(0, 3, 2, 1, 4)
            acc = tl.dot_scaled(
                pairs_a.reshape(BLOCK, BLOCK_K // 2),
                scale_a.reshape(BLOCK, BLOCK_K // 16),
                "e2m1",
                pairs_b.reshape(BLOCK, BLOCK_K // 2).T,
                scale_b.reshape(BLOCK, BLOCK_K // 16),
                "e2m1",
                acc,
            )
        row = row_tile * BLOCK + tl.arange(0, BLOCK)
        col = col_tile * BLOCK + tl.arange(0, BLOCK)
        at = c + row[:, None] * stride + col[None, :]
        tl.store(at, acc.to(tl.float16), mask=(row < m)[:, None] & (col < n)[None, :])


KERNEL = _Bound(_kernel, num_warps=4, num_stages=3, num_ctas=1)


def _packed(tensor):
    view = tensor.view(torch.uint8).permute(0, 2, 1)
    return TensorDescriptor.from_tensor(view, block_shape=[128, 1, 128])


def _scales(tensor):
    back = tensor.permute(5, 2, 4, 0, 1, 3)
    view = back.view(1, back.shape[1], back.shape[2], 2, 256)
    return TensorDescriptor.from_tensor(view, block_shape=[1, 1, 4, 2, 256])


def custom_kernel(data):
    abc, _, scales, sizes = data
    results = []
    for (a, b, c), (sfa, sfb), (m, n, k, _batch) in zip(abc, scales, sizes, strict=True):
        properties = torch.cuda.get_device_properties(a.device)
        tiles = triton.cdiv(m, 128) * triton.cdiv(n, 128)
        KERNEL[(min(tiles, properties.multi_processor_count),)](
            _packed(a), _scales(sfa), _packed(b), _scales(sfb), c, c.stride(0), m, n, k, 128, 256
        )
        results.append(c)
    torch.cuda.synchronize()
    return results
