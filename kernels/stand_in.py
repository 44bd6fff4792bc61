"""Stand-ins for what candidates ask of their surroundings, where there is no GPU.

`imitate` answers for a device of some compute capability: `torch.cuda`, `device="cuda"`, and
Triton's driver. What makes such a process useful is elsewhere: `emulation` runs kernels, and
`compilation` compiles them.

Not covered: CUDA graphs, and `device="cuda"` in threads that a candidate starts (a function mode
belongs to one thread). Events note the host's clock: nothing here has a meaningful time.
"""

import re
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace

import torch
import triton
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack
from torch.utils._device import DeviceContext
from triton.backends.compiler import GPUTarget
from triton.runtime import autotuner

_CUDA_DEVICE = re.compile(r"cuda(:\d+)?")
_IS_CUDA = torch.Tensor.is_cuda.__get__  # type: ignore[attr-defined]
_HOST = torch.device("cpu")
_WARP_SIZE = 32
_MEMORY_BYTES = 180 << 30
_imitated: set[tuple[int, int]] = set()


def imitate(capability: tuple[int, int]) -> None:
    """Answer for a device of this compute capability from now on; a later call changes it."""
    _imitated.add(capability)
    properties = device_properties(capability)
    for name, answer in (_CUDA | _answers(capability, properties)).items():
        setattr(torch.cuda, name, answer)
    triton.runtime.driver.set_active(_Driver(capability, properties))
    # The first configuration that survives pruning wins: there is nothing to measure.
    autotuner.Autotuner._bench = lambda self, *args, config, **meta: [0.0, 0.0, 0.0]
    modes = _get_current_function_mode_stack()  # type: ignore[no-untyped-call]
    if not any(type(mode) is _CudaOnHost for mode in modes):
        _send_cuda_to_the_host()


def imitates() -> bool:
    """Tell whether this process answers for a device that is not there."""
    return bool(_imitated)


def device_properties(capability: tuple[int, int]) -> SimpleNamespace:
    """Return what a device of this capability reports (CUDA C++ Programming Guide, tables).

    The number of multiprocessors is a B200's, whatever the capability.
    """
    return SimpleNamespace(
        name="halfbyte emulation",
        major=capability[0],
        minor=capability[1],
        multi_processor_count=148,
        total_memory=_MEMORY_BYTES,
        warp_size=_WARP_SIZE,
        max_threads_per_multi_processor=2048,
        max_threads_per_block=1024,
        regs_per_multiprocessor=65536,
        shared_memory_per_block=48 << 10,
        shared_memory_per_block_optin=shared_memory_bytes(capability),
        L2_cache_size=126 << 20,
        is_integrated=0,
        is_multi_gpu_board=0,
        gcnArchName="",
    )


def shared_memory_bytes(capability: tuple[int, int]) -> int:
    """Return the most shared memory that one program may have."""
    match capability[0]:
        case 9 | 10 | 11:
            return 227 << 10
        case 12:
            return 99 << 10
        case _:
            return (163 if capability == (8, 0) else 99) << 10


def _send_cuda_to_the_host() -> None:
    original = DeviceContext.__init__

    def initialise(self: DeviceContext, device: object) -> None:
        original(self, _on_host(device))

    # `with torch.device("cuda")` and set_default_device act below every other function mode.
    DeviceContext.__init__ = initialise  # type: ignore[method-assign]
    _CudaOnHost().__enter__()  # type: ignore[no-untyped-call]


def _on_host(device: object) -> object:
    """Return the CPU for what names a CUDA device, anything else as it is."""
    if isinstance(device, torch.device):
        return _HOST if device.type == "cuda" else device
    if isinstance(device, str):
        return _HOST if _CUDA_DEVICE.fullmatch(device) else device
    return _HOST if type(device) is int else device


class _CudaOnHost(TorchFunctionMode):
    """Maps CUDA devices to the CPU in every torch function; tensors stay plain tensors."""

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        kwargs = dict(kwargs or {})
        if func == _IS_CUDA:
            return True
        if func in (torch.Tensor.cuda, torch.Tensor.pin_memory):
            return args[0]
        if func is torch.Tensor.record_stream:
            return None
        if func is torch.Tensor.to:
            args = (args[0], *map(_on_host, args[1:2]), *args[2:])
        if "device" in kwargs:
            kwargs["device"] = _on_host(kwargs["device"])
        # Pinning needs a CUDA context; on the host all memory can be read at once.
        kwargs.pop("pin_memory", None)
        return func(*args, **kwargs)


class Stream:
    """A stream on which everything is done as soon as it is asked for."""

    cuda_stream = 0
    device = _HOST
    priority = 0

    def __init__(self, device: object = None, priority: int = 0, **_: object) -> None:
        """Accept what `torch.cuda.Stream` accepts."""

    def synchronize(self) -> None:
        """Return at once: there is nothing to wait for."""

    wait_stream = wait_event = lambda self, other: None

    def query(self) -> bool:
        """Tell that all work is done."""
        return True

    def record_event(self, event: "Event | None" = None) -> "Event":
        """Record an event, by default a fresh one."""
        event = event or Event(enable_timing=True)
        event.record(self)
        return event

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Event:
    """An event that notes the host's clock."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, **_: object) -> None:
        """Accept what `torch.cuda.Event` accepts."""
        self._recorded_s = 0.0

    def record(self, stream: object = None) -> None:
        """Note the time."""
        self._recorded_s = time.perf_counter()

    def elapsed_time(self, end_event: "Event") -> float:
        """Return the milliseconds from this event to `end_event`."""
        return (end_event._recorded_s - self._recorded_s) * 1e3

    def query(self) -> bool:
        """Tell that the event has happened."""
        return True

    def synchronize(self) -> None:
        """Return at once."""

    def wait(self, stream: object = None) -> None:
        """Return at once."""


_STREAM = Stream()


def _context(*_: object, **__: object) -> AbstractContextManager[None]:
    return nullcontext()


def _nothing(*_: object, **__: object) -> None:
    pass


def _constant(value: object) -> Callable[..., object]:
    return lambda *_, **__: value


_CUDA: dict[str, object] = {
    "is_available": _constant(True),
    "is_initialized": _constant(True),
    "init": _nothing,
    "device_count": _constant(1),
    "current_device": _constant(0),
    "set_device": _nothing,
    "device": _context,
    "synchronize": _nothing,
    "_sleep": _nothing,
    "Stream": Stream,
    "Event": Event,
    "stream": _context,
    "set_stream": _nothing,
    "current_stream": _constant(_STREAM),
    "default_stream": _constant(_STREAM),
    "is_current_stream_capturing": _constant(False),
    "empty_cache": _nothing,
    "memory_allocated": _constant(0),
    "max_memory_allocated": _constant(0),
    "reset_peak_memory_stats": _nothing,
    "mem_get_info": _constant((_MEMORY_BYTES, _MEMORY_BYTES)),
    "manual_seed": torch.default_generator.manual_seed,
    "manual_seed_all": torch.default_generator.manual_seed,
}
"""Without a GPU each of these raises in torch; candidates call them before and around a launch."""


def _answers(capability: tuple[int, int], properties: SimpleNamespace) -> dict[str, object]:
    return {
        "get_device_name": _constant(properties.name),
        "get_device_capability": _constant(capability),
        "get_device_properties": _constant(properties),
    }


class _Driver:
    """Answers what kernels and launchers ask of `triton.runtime.driver.active`."""

    def __init__(self, capability: tuple[int, int], properties: SimpleNamespace) -> None:
        self._arch = capability[0] * 10 + capability[1]
        self.utils = SimpleNamespace(
            get_device_properties=_constant(
                {
                    "max_shared_mem": properties.shared_memory_per_block_optin,
                    "max_num_regs": properties.regs_per_multiprocessor,
                    "multiprocessor_count": properties.multi_processor_count,
                    "warpSize": properties.warp_size,
                }
            )
        )

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self._arch, _WARP_SIZE)

    def get_current_device(self) -> int:
        """Compiled kernels are kept by device number, so every target has one of its own."""
        return self._arch

    get_current_stream = _constant(0)
    get_active_torch_device = _constant(_HOST)
    get_device_interface = _constant(torch.cuda)
