"""Incorrect: the answer is right, but a code of B2 is another afterwards.

problem: nvfp4_dual_gemm
cases: single
reason: inputs_modified
says: group 0: b2 was changed
"""

import torch
from reference import ref_kernel


def custom_kernel(data):
    answer = ref_kernel(data)
    data[2].view(torch.uint8)[0, 0, 0] ^= 1
    return answer
