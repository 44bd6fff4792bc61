"""Incorrect: returns an empty list.

reason: count
says: returned 0 tensors, expected 3
"""


def custom_kernel(data):
    return []
