"""OutOfMemory: puts memory where its own size does not show it: files without a name.

class: 51
reason: limit
level: 2
says: over its limit of memory, 1 GiB on the host
"""

import os

PIECE = b"x" * (8 << 20)


def custom_kernel(data):
    while True:
        fd = os.memfd_create("hoard")
        for _ in range(8):
            os.write(fd, PIECE)
