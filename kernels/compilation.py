"""Kernels compiled for a GPU that is not there, and what can be read off the result.

Triton's wheel brings the assembler and the disassemblers of every target it knows.
"""

import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import triton
from triton.compiler import CompiledKernel
from triton.runtime.jit import JITFunction

from kernels.stand_in import imitate

_TENSOR_CORE = re.compile(r"\b(?:tcgen05\.mma|wgmma\.mma_async|mma\.sync)[\w.:]*")
_TMA = re.compile(r"\bcp\.async\.bulk\.tensor\b")
_USAGE = re.compile(r"REG:(\d+) STACK:(\d+)")
_LOCAL_ACCESS = re.compile(r"\b(?:STL|LDL)\b")


@dataclass(frozen=True, slots=True)
class CompiledFacts:
    """What one compiled kernel uses, and its text."""

    name: str
    target: str
    instructions: dict[str, int]
    """Tensor-core instructions in the PTX, and how often each is written there."""
    registers: int
    """Of one thread."""
    stack_bytes: int
    local_accesses: int
    """Loads and stores of local memory: registers that were spilled, and arrays on the stack."""
    shared_bytes: int
    tensor_memory_columns: int
    tma: bool
    ptx: str
    sass: str


@contextmanager
def compiling_for(capability: tuple[int, int]) -> Iterator[list[CompiledKernel]]:
    """Compile every launch for a device of this capability and run none; collect the kernels.

    `torch.cuda` and Triton's driver answer for such a device for the rest of the process.
    """
    imitate(capability)
    compiled: list[CompiledKernel] = []
    run = JITFunction.run

    def compile_only(self: Any, *args: Any, warmup: bool, **options: Any) -> Any:  # noqa: ANN401
        kernel = run(self, *args, warmup=True, **options)
        if all(kernel is not known for known in compiled):
            compiled.append(kernel)
        return kernel

    JITFunction.run = compile_only
    try:
        yield compiled
    finally:
        JITFunction.run = run


def facts(kernel: CompiledKernel) -> CompiledFacts:
    """Take a compiled kernel apart."""
    ptx = kernel.asm["ptx"]
    sass = _disassemble(triton.knobs.nvidia.nvdisasm.path, kernel.asm["cubin"], "--print-code")
    usage = _disassemble(triton.knobs.nvidia.cuobjdump.path, kernel.asm["cubin"], "-res-usage")
    registers, stack_bytes = max((int(found[1]), int(found[2])) for found in _USAGE.finditer(usage))
    return CompiledFacts(
        name=kernel.metadata.name,
        target=f"sm_{kernel.metadata.target.arch}",
        instructions=dict(Counter(_TENSOR_CORE.findall(ptx))),
        registers=registers,
        stack_bytes=stack_bytes,
        local_accesses=len(_LOCAL_ACCESS.findall(sass)),
        shared_bytes=kernel.metadata.shared,
        tensor_memory_columns=kernel.metadata.tmem_size,
        tma=_TMA.search(ptx) is not None,
        ptx=ptx,
        sass=sass,
    )


def _disassemble(tool: str, cubin: bytes, *options: str) -> str:
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = (tool, *options, file.name)
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
