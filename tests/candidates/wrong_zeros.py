"""Incorrect: zeros everywhere.

reason: values
says: got 0.0
"""


def custom_kernel(data):
    outputs = [c for _, _, c in data[0]]
    for output in outputs:
        output.zero_()
    return outputs
