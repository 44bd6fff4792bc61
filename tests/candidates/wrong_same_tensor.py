"""Incorrect: returns the same tensor for two groups of equal sizes.

class: 21
cases: same_sizes
reason: values
says: group 1
"""

from reference import ref_kernel


def custom_kernel(data):
    outputs = ref_kernel(data)
    return [outputs[0], outputs[0]]
