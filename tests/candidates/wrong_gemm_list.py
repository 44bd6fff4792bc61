"""Incorrect: returns a list, as if there were groups.

problem: nvfp4_gemm
cases: single
reason: type
says: got a list, expected exactly torch.Tensor
"""

from reference import ref_kernel


def custom_kernel(data):
    return [ref_kernel(data)]
