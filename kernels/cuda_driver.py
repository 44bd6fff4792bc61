"""What is asked of the CUDA driver: machine code, launches, descriptions for the copy engine.

Through `cuda-bindings`, which PyTorch for CUDA brings along. The current context is the caller's,
so a tensor must have been made on the device before.
"""

import ctypes
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final

Opaque = Any
"""What the driver hands out and nobody else looks into."""
MAP_BYTES: Final = 128


def has_bindings() -> bool:
    """Tell whether the CUDA bindings can be imported."""
    return find_spec("cuda") is not None and find_spec("cuda.bindings") is not None


@cache
def _driver() -> ModuleType:
    return import_module("cuda.bindings.driver")


def _checked(answer: tuple[Opaque, ...]) -> Opaque:
    """Return what a call of the driver gave besides its status."""
    status, *values = answer
    if status != _driver().CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"the CUDA driver says {status.name}")
    return values[0] if values else None


class Module:
    """Loaded machine code."""

    def __init__(self, cubin: bytes) -> None:
        """Load it into the current context."""
        self._module = _checked(_driver().cuModuleLoadData(cubin))

    def function(self, name: str, shared_bytes: int = 0) -> Opaque:
        """Return a kernel, allowed so much dynamic shared memory."""
        function = _checked(_driver().cuModuleGetFunction(self._module, name.encode()))
        most = _driver().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        if shared_bytes:
            _checked(_driver().cuFuncSetAttribute(function, most, shared_bytes))
        return function


class PackedRows:
    """A description of a matrix of bytes for the copy engine, 128 bytes of an unknown format.

    Rows of `row_bytes` bytes, a multiple of 16, at an address that is one too. A box is 128 bytes
    by `box_rows` rows; its 16-byte pieces land XORed with row % 8, zeros where there is no matrix.
    """

    def __init__(self, address: int, rows: int, row_bytes: int, box_rows: int) -> None:
        """Describe the matrix at a valid device address."""
        driver = _driver()
        self._map = _checked(
            driver.cuTensorMapEncodeTiled(
                driver.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_UINT8,
                2,
                address,
                [driver.cuuint64_t(row_bytes), driver.cuuint64_t(rows)],
                [driver.cuuint64_t(row_bytes)],
                [driver.cuuint32_t(128), driver.cuuint32_t(box_rows)],
                [driver.cuuint32_t(1)] * 2,
                driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
                driver.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_128B,
                driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        )

    def write(self, address: int, where: int) -> None:
        """Write the description of such a matrix at another address to host memory at `where`."""
        _checked(_driver().cuTensorMapReplaceAddress(self._map, address))
        ctypes.memmove(where, int(self._map.getPtr()), MAP_BYTES)


class Start:
    """A kernel with its grid and its arguments, which may change between launches."""

    def __init__(
        self, function: Opaque, grid: tuple[int, int], threads: int, shared_bytes: int = 0
    ) -> None:
        """Note how it is launched."""
        self._function = function
        config = self._config = _driver().CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = *grid, 1
        config.blockDimX, config.blockDimY, config.blockDimZ = threads, 1, 1
        config.sharedMemBytes = shared_bytes
        self.pass_arguments(())

    def pass_arguments(self, arguments: Sequence[Opaque]) -> None:
        """Pass ctypes objects; what they hold at a launch is what the kernel sees."""
        self._arguments = arguments
        self._where = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))

    def overlap(self) -> None:
        """Let it start while the kernel before it runs; it waits for that by itself."""
        driver = _driver()
        attribute = driver.CUlaunchAttribute()
        ids = driver.CUlaunchAttributeID
        attribute.id = ids.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        attribute.value.programmaticStreamSerializationAllowed = 1
        self._config.attrs, self._config.numAttrs = [attribute], 1

    def __call__(self, stream: int) -> None:
        """Launch on a stream."""
        self._config.hStream = stream
        where = ctypes.addressof(self._where)
        _checked(_driver().cuLaunchKernelEx(self._config, self._function, where, 0))
