"""Incorrect: right the first time it is called and wrong from then on.

class: 10
reason: values
says: group 0, row 0, column 0
"""

from reference import ref_kernel

calls = 0


def custom_kernel(data):
    global calls
    calls += 1
    outputs = ref_kernel(data)
    if calls > 1:
        outputs[0][0, 0, 0] = 12345
    return outputs
