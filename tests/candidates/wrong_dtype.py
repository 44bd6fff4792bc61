"""Incorrect: returns float32.

reason: dtype
says: group 0: got dtype torch.float32, expected torch.float16
"""

from reference import ref_kernel


def custom_kernel(data):
    return [output.float() for output in ref_kernel(data)]
