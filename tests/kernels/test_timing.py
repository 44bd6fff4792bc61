"""What goes before a sample, as far as it can be seen without a GPU."""

import pytest
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from kernels.timing import _run_other_code

KEPT_BYTES = 128 << 10
"""Of instructions, by a multiprocessor of sm_90."""


def test_other_code_is_more_than_a_multiprocessor_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_DISABLE_LINE_INFO", "1")  # so that all of it is code
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    source = ASTSource(_run_other_code, {"found": "*i32"}, {})
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 1})
    assert len(made.asm["cubin"]) > 2 * KEPT_BYTES
