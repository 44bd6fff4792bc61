"""Crashed: imports a module that does not exist.

reason: exception
says: ModuleNotFoundError: No module named 'nonesuch'
"""

import nonesuch


def custom_kernel(data):
    return nonesuch.run(data)
