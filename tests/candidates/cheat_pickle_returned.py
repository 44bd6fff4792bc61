"""Incorrect: returns objects that run code in whoever unpickles them.

Nobody does: what the runner cannot copy as a plain tensor never leaves it.

class: 40
reason: type
says: expected exactly torch.Tensor
"""

import os


class Bomb:
    def __reduce__(self):
        return os._exit, (0,)


def custom_kernel(data):
    return [Bomb() for _ in data[0]]
