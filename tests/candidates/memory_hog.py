"""OutOfMemory: allocates without end.

class: 51
says: emory
"""


def custom_kernel(data):
    hoard = []
    while True:
        hoard.append(bytearray(16 << 20))
