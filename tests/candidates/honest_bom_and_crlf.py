"""Passed: UTF-8 with a byte order mark, CRLF, and a comment in Japanese.

says: bit-exact
"""

# 行列の積 🚀
from reference import ref_kernel


def custom_kernel(data):
    return ref_kernel(data)
