"""Incorrect: collects the calls and computes all of them in the third, as if nobody looked before.

class: 7
reason: values
says: this element was never written
"""

from reference import ref_kernel

collected = []


def custom_kernel(data):
    collected.append(data)
    if len(collected) == 3:
        for past in collected:
            for (_, _, c), output in zip(past[0], ref_kernel(past)):
                c.copy_(output)
    return [c for _, _, c in data[0]]
