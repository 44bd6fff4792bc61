"""Crashed: calls sys.exit(0).

reason: exit
says: SystemExit
"""

import sys


def custom_kernel(data):
    sys.exit(0)
