"""Incorrect: returns a plain tensor whose own methods say that it lies where the output lies.

The runner believes that nothing has to be copied. The judge looks at the bytes.

class: 6
reason: values
says: this element was never written
"""

import torch


def disguised(output):
    tensor = torch.zeros(output.shape, dtype=output.dtype)
    tensor.data_ptr = output.data_ptr
    tensor.stride = output.stride
    return tensor


def custom_kernel(data):
    return [disguised(c) for _, _, c in data[0]]
