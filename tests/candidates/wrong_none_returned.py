"""Incorrect: forgets to return.

reason: type
says: custom_kernel returned None
"""


def custom_kernel(data):
    pass
