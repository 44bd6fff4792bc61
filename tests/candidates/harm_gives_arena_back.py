"""Incorrect: truncates what it can and gives the pages of the shared memory back, under the judge.

A judge that read a file that has become shorter would die of SIGBUS. This memory is sealed in its
size, its descriptors are closed before the file runs, and pages that are given back read as zeros:
changed operands.

class: 41
reason: inputs_modified
says: sfa was changed
"""

import mmap
import os
import sys

from reference import ref_kernel


def truncate_all():
    for fd in range(256):
        try:
            os.ftruncate(fd, 0)
        except OSError:
            pass


def custom_kernel(data):
    outputs = ref_kernel(data)
    truncate_all()
    frame = sys._getframe(1)
    while "mapping" not in frame.f_locals:
        frame = frame.f_back
    frame.f_locals["mapping"].madvise(mmap.MADV_REMOVE)
    return outputs
