"""Crashed: raises with a message of 100 KB.

reason: exception
says: ValueError: no such tile
"""


def custom_kernel(data):
    raise ValueError("no such tile " + "x" * 100_000 + " the end")
