"""CompileError: a Triton kernel that does not compile.

reason: compiler
says: nonesuch
"""

import triton
from triton.compiler.errors import CompilationError


def custom_kernel(data):
    raise CompilationError("tl.nonesuch(1)", None, "module 'tl' has no attribute 'nonesuch'")
