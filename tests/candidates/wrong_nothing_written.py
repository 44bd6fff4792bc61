"""Incorrect: returns its outputs as they came.

class: 28
reason: values
says: this element was never written, nor was any
"""


def custom_kernel(data):
    return [c for _, _, c in data[0]]
