"""Crashed: raises an exception whose message raises as well, and which holds a lock.

reason: exception
says: Spiteful
"""

import threading


class Spiteful(Exception):
    lock = threading.Lock()

    def __str__(self):
        raise RuntimeError("no message for you")


def custom_kernel(data):
    raise Spiteful
