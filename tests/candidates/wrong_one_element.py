"""Incorrect: right everywhere but in one element of the last group.

reason: values
says: group 2, row 4, column 23
"""

from reference import ref_kernel


def custom_kernel(data):
    outputs = ref_kernel(data)
    outputs[-1][-1, -1, 0] += 8
    return outputs
