"""OutOfMemory: allocates without end.

class: 51
says: limit of memory
"""


def custom_kernel(data):
    hoard = []
    while True:
        hoard.append(bytearray(16 << 20))
