"""Incorrect: leaves out one block of 16 of the last group, where k is longest to sum.

class: 28
reason: values
says: outside the bound
"""

from reference import ref_kernel


def custom_kernel(data):
    operands, scales, reordered, sizes = data
    group = max(range(len(sizes)), key=lambda group: sizes[group][2])
    a, b, c = operands[group]
    sfa, sfb = scales[group]
    shorter = list(operands), list(scales)
    shorter[0][group] = a[:, :-8], b[:, :-8], c
    shorter[1][group] = sfa[:, :-1], sfb[:, :-1]
    return ref_kernel((*shorter, reordered, sizes))
