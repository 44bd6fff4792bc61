"""Incorrect: keeps answers in the C library's hash table.

No look at Python objects finds them there.

class: 19
reason: values
says: outside the bound
"""

import ctypes

import torch
from reference import ref_kernel

LIBC = ctypes.CDLL(None)
LIBC.malloc.restype = ctypes.c_void_p
FIND, ENTER = 0, 1


class Entry(ctypes.Structure):
    _fields_ = [("key", ctypes.c_char_p), ("data", ctypes.c_void_p)]


LIBC.hsearch.argtypes = [Entry, ctypes.c_int]
LIBC.hsearch.restype = ctypes.POINTER(Entry)
LIBC.hcreate(ctypes.c_size_t(1024))
keys = []


def custom_kernel(data):
    right = None
    for group, (_, _, c) in enumerate(data[0]):
        key = f"{group} {list(c.shape)}".encode()
        size = c.numel() * c.element_size()
        found = LIBC.hsearch(Entry(key, None), FIND)
        if found:
            kept = bytearray(ctypes.string_at(found[0].data, size))
            c.copy_(torch.frombuffer(kept, dtype=c.dtype).view(c.shape))
            continue
        right = ref_kernel(data) if right is None else right
        c.copy_(right[group])
        kept = LIBC.malloc(ctypes.c_size_t(size))
        ctypes.memmove(kept, right[group].contiguous().data_ptr(), size)
        keys.append(key)
        LIBC.hsearch(Entry(key, kept), ENTER)
    return [c for _, _, c in data[0]]
