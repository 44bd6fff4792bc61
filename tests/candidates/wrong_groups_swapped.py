"""Incorrect: computes two groups of equal sizes and returns them in the other order.

cases: same_sizes
reason: values
says: outside the bound
"""

from reference import ref_kernel


def custom_kernel(data):
    outputs = ref_kernel(data)
    outputs[0], outputs[1] = outputs[1], outputs[0]
    return outputs
