"""CompileError: aborts before its first result, as a compiler's assertion does.

reason: abort
says: SIGABRT
"""

import os

os.abort()


def custom_kernel(data):
    return []
