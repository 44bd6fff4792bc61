"""Incorrect: leaves out the last dimension.

reason: shape
says: group 0: got shape [8, 32], expected [8, 32, 1]
"""

from reference import ref_kernel


def custom_kernel(data):
    return [output[..., 0] for output in ref_kernel(data)]
