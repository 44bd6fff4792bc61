"""What lets a CPU stand in for a GPU in the process that runs a candidate.

Triton's interpreter runs the kernels, after four corrections; `stand_in` answers for a B200, so
that candidates take the road they take there.

Not covered, besides what `stand_in` leaves out: `load_inline`, inline assembly and Gluon.
"""

from dataclasses import replace

import numpy as np
import torch
import triton
import triton.language as tl
from triton.runtime import interpreter

from kernels.stand_in import imitate

CAPABILITY = (10, 0)


def install() -> None:
    """Put everything in place, for the rest of the life of this process.

    Raises:
        RuntimeError: Triton is not interpreting, or its interpreter cannot run `dot_scaled`.

    """
    if not triton.knobs.runtime.interpret:
        raise RuntimeError("emulation needs TRITON_INTERPRET=1 before triton is imported")
    _decode_e4m3_scales()
    _leave_arguments_in_place()
    # Integers wrap on a GPU unless a kernel is compiled for debugging.
    builder = interpreter.interpreter_builder
    builder.options = replace(builder.options, sanitize_overflow=False)
    # Overflow to infinity is an answer on a GPU, not a warning.
    np.seterr(all="ignore")
    imitate(CAPABILITY)


def _decode_e4m3_scales() -> None:
    """Teach the interpreter that a `float8e4nv` scale is E4M3; it reads every scale as E8M0."""
    original = getattr(interpreter, "_dot_scaled_scale_to_f32", None)
    if original is None or not hasattr(interpreter.InterpreterBuilder, "create_dot_scaled"):
        raise RuntimeError(
            f"Triton {triton.__version__} cannot interpret dot_scaled: emulation needs Triton 3.9"
        )
    values = torch.arange(256, dtype=torch.uint8).view(torch.float8_e4m3fn).float().numpy()

    def scale_to_f32(scale: interpreter.TensorHandle, compute_type: object) -> object:
        if scale.dtype.scalar == tl.float8e4nv:
            return values[scale.data.view(np.uint8)]
        return original(scale, compute_type)

    interpreter._dot_scaled_scale_to_f32 = scale_to_f32


def _leave_arguments_in_place() -> None:
    """Stop the interpreter from copying every argument's storage onto itself after a launch.

    Its host copies of CPU tensors are the tensors: the copy would read and write a whole arena, and
    fault where an input is mapped read-only.
    """
    interpreter.GridExecutor._restore_args_dev = lambda self, *args: None
