"""Device memory that travels as a file descriptor, so that it crosses namespaces and uids.

The virtual memory management calls of the driver: legacy IPC handles, which torch shares tensors
with, fail across a pid namespace or another uid.
"""

import os
from typing import Any, Final, cast

import torch
from cuda.bindings import driver

HANDLE: Final = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

DEVICE_MAP: Final = 2
"""CU_MEMHOSTREGISTER_DEVICEMAP."""


class CudaError(Exception):
    """A call of the driver failed."""


class DevicePiece:
    """Device memory of the judge: allocated, exported, mapped."""

    def __init__(self, size_bytes: int) -> None:
        """Allocate on the current device, rounded up to what the driver hands out.

        Raises:
            CudaError: no memory, or the driver does not export descriptors.

        """
        location = _location()
        wanted = driver.CUmemAllocationProp()
        wanted.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        wanted.location = location
        wanted.requestedHandleTypes = HANDLE
        step = _call(
            driver.cuMemGetAllocationGranularity(
                wanted,
                driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_RECOMMENDED,
            )
        )
        self.size_bytes = -(-size_bytes // step) * step
        self._handle = _call(driver.cuMemCreate(self.size_bytes, wanted, 0))
        self.fd = int(_call(driver.cuMemExportToShareableHandle(self._handle, HANDLE, 0)))
        self._address = _map(self._handle, self.size_bytes)
        self.tensor = _tensor(self._address, self.size_bytes)

    def close(self) -> None:
        """Unmap it and give it back once the runner's mapping is gone too."""
        os.close(self.fd)
        del self.tensor
        torch.cuda.synchronize()
        _call(driver.cuMemUnmap(self._address, self.size_bytes))
        _call(driver.cuMemAddressFree(self._address, self.size_bytes))
        _call(driver.cuMemRelease(self._handle))


def attach_device(fd: int, size_bytes: int) -> torch.Tensor:
    """Map a device piece in the runner, as a flat uint8 tensor.

    Raises:
        CudaError: the driver does not import it.

    """
    handle = _call(driver.cuMemImportFromShareableHandle(fd, HANDLE))
    return _tensor(_map(handle, size_bytes), size_bytes)


def show_to_device(address: int, size_bytes: int) -> int:
    """Let the device read host memory; return the address that it has there.

    Raises:
        CudaError: the driver refuses.

    """
    _call(driver.cuMemHostRegister(address, size_bytes, DEVICE_MAP))
    return int(_call(driver.cuMemHostGetDevicePointer(address, 0)))


def hide_from_device(address: int) -> None:
    """Undo it, before the host memory goes.

    Raises:
        CudaError: it was not shown.

    """
    _call(driver.cuMemHostUnregister(address))


def wait_for_word(address: int, value: int) -> None:
    """Have the device's current work wait until 8 bytes are `value`; the host goes on.

    Meanwhile other processes have the device as if nothing waited.
    """
    equal = driver.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_EQ
    _call(driver.cuStreamWaitValue64(0, address, value, equal))


def _location() -> Any:  # noqa: ANN401  (the bindings are untyped)
    location = driver.CUmemLocation()
    location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    location.id = torch.cuda.current_device()
    return location


def _map(handle: Any, size_bytes: int) -> int:  # noqa: ANN401
    access = driver.CUmemAccessDesc()
    access.location = _location()
    access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    address = int(_call(driver.cuMemAddressReserve(size_bytes, 0, 0, 0)))
    _call(driver.cuMemMap(address, size_bytes, 0, handle, 0))
    _call(driver.cuMemSetAccess(address, size_bytes, [access], 1))
    return address


class _Memory:
    """What torch needs to see memory that it did not allocate."""

    def __init__(self, address: int, size_bytes: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size_bytes,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


def _tensor(address: int, size_bytes: int) -> torch.Tensor:
    return torch.as_tensor(_Memory(address, size_bytes), device="cuda")


def _call(result: tuple[Any, ...]) -> Any:  # noqa: ANN401
    """Return what a call of the driver gave.

    Raises:
        CudaError: with the driver's name of the fault.

    """
    status, *values = result
    if status != driver.CUresult.CUDA_SUCCESS:
        _, name = driver.cuGetErrorName(status)
        raise CudaError(cast("bytes", name).decode())
    return values[0] if values else None
