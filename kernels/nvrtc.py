"""Compiles CUDA C++ at run time, looks at what the assembler said, and keeps the machine code.

Needs no GPU and no installed toolkit: `cuda-bindings` and the NVRTC library come with PyTorch for
CUDA. The cache is a folder of files named by everything that the machine code depends on: source,
headers, options with the architecture, and the compiler's version. A file appears whole or not at
all, so processes may share the folder.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_WARNING = re.compile(r"\((C75\d\d)\)[^\n]*")
_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")


class CompileError(Exception):
    """The compiler refused the source; the message is its log."""


@dataclass(frozen=True, slots=True)
class Build:
    """Machine code and the assembler's words about it."""

    cubin: bytes
    log: str

    @property
    def warnings(self) -> tuple[str, ...]:
        """Lines of the C75xx family: products of `wgmma` that run one after the other, and why."""
        return tuple(match.group() for match in _WARNING.finditer(self.log))

    @property
    def spill_bytes(self) -> int:
        """Bytes that registers are stored to and loaded from local memory, summed over kernels."""
        return sum(int(number) for pair in _SPILLS.findall(self.log) for number in pair)

    @property
    def registers(self) -> int:
        """Registers of a thread at launch; the most of any kernel."""
        return max(map(int, _REGISTERS.findall(self.log)), default=0)


def compile_cubin(
    source: str, headers: Mapping[str, str], options: Sequence[str], cache: Path
) -> Build:
    """Return the build of a source, from the cache where it was built before.

    `headers` are found by the names that the source includes them by; `options` name the
    architecture, such as `-arch=sm_90a`.

    Raises:
        CompileError: the source does not compile.
        ImportError: there are no bindings.

    """
    from cuda.bindings import nvrtc  # noqa: PLC0415  (not everybody who imports this compiles)

    options = (*options, "--ptxas-options=-v")
    version = _checked(nvrtc, nvrtc.nvrtcVersion())
    key = _key(source, *headers, *headers.values(), *options, str(version))
    cubin_file, log_file = cache / f"{key}.cubin", cache / f"{key}.log"
    try:
        return Build(cubin_file.read_bytes(), log_file.read_text())
    except FileNotFoundError:
        build = _compile(nvrtc, source, headers, options)
    cache.mkdir(parents=True, exist_ok=True)
    _write(log_file, build.log.encode())
    _write(cubin_file, build.cubin)
    return build


def _compile(
    nvrtc: Any,  # noqa: ANN401  (a module)
    source: str,
    headers: Mapping[str, str],
    options: Sequence[str],
) -> Build:
    program = _checked(
        nvrtc,
        nvrtc.nvrtcCreateProgram(
            source.encode(),
            b"kernel.cu",
            len(headers),
            [text.encode() for text in headers.values()],
            [name.encode() for name in headers],
        ),
    )
    try:
        (status,) = nvrtc.nvrtcCompileProgram(
            program, len(options), [option.encode() for option in options]
        )
        log = bytearray(_checked(nvrtc, nvrtc.nvrtcGetProgramLogSize(program)))
        _checked(nvrtc, nvrtc.nvrtcGetProgramLog(program, log))
        text = log.rstrip(b"\0").decode(errors="replace")
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise CompileError(text)
        cubin = bytearray(_checked(nvrtc, nvrtc.nvrtcGetCUBINSize(program)))
        _checked(nvrtc, nvrtc.nvrtcGetCUBIN(program, cubin))
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return Build(bytes(cubin), text)


def _checked(nvrtc: Any, answer: tuple[Any, ...]) -> Any:  # noqa: ANN401
    """Return what a call gave besides its status."""
    status, *values = answer
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise CompileError(f"NVRTC says {status.name}")
    return values[0] if len(values) == 1 else tuple(values)


def _key(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part.encode())
    return digest.hexdigest()


def _write(file: Path, content: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as scratch:
        scratch.write(content)
    os.replace(scratch.name, file)
