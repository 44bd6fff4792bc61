"""Incorrect: leaves out the last row of the last group.

class: 28
reason: values
says: this element was never written
"""

from reference import ref_kernel


def custom_kernel(data):
    outputs = [c for _, _, c in data[0]]
    for group, (output, right) in enumerate(zip(outputs, ref_kernel(data))):
        rows = output.shape[0] - (group == len(outputs) - 1)
        output[:rows] = right[:rows]
    return outputs
