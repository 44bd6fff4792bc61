"""Incorrect: NaN everywhere, which no comparison with a tolerance calls too far away.

class: 27
reason: values
says: got NaN
"""


def custom_kernel(data):
    outputs = [c for _, _, c in data[0]]
    for output in outputs:
        output.fill_(float("nan"))
    return outputs
