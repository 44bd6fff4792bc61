"""What lets a CPU stand in for a GPU in the process that runs a candidate.

Triton's interpreter runs the kernels; this module supplies what candidates ask of their
surroundings: `torch.cuda`, `device="cuda"`, Triton's driver, and the decoding of E4M3 scales, which
the interpreter lacks. The machine it describes is a B200, so that candidates take the road they
take there. Nothing here has a meaningful time: events note the host's clock.

Not covered: CUDA graphs, `load_inline`, inline assembly, Gluon, and `device="cuda"` in threads that
a candidate starts (a function mode belongs to one thread).
"""

import re
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import torch
import triton
import triton.language as tl
from torch.overrides import TorchFunctionMode
from torch.utils._device import DeviceContext
from triton.backends.compiler import GPUTarget
from triton.runtime import autotuner, interpreter

CAPABILITY = (10, 0)
MULTIPROCESSORS = 148
PROPERTIES = SimpleNamespace(
    name="halfbyte emulation",
    major=CAPABILITY[0],
    minor=CAPABILITY[1],
    multi_processor_count=MULTIPROCESSORS,
    total_memory=180 << 30,
    warp_size=32,
    max_threads_per_multi_processor=2048,
    max_threads_per_block=1024,
    regs_per_multiprocessor=65536,
    shared_memory_per_block=48 << 10,
    shared_memory_per_block_optin=227 << 10,
    shared_memory_per_multiprocessor=228 << 10,
    L2_cache_size=126 << 20,
    is_integrated=0,
    is_multi_gpu_board=0,
    gcnArchName="",
)
"""What a B200 reports, but for the name (CUDA C++ Programming Guide, table for 10.0)."""

_CUDA_DEVICE = re.compile(r"cuda(:\d+)?")
_IS_CUDA = torch.Tensor.is_cuda.__get__  # type: ignore[attr-defined]
_HOST = torch.device("cpu")


def install() -> None:
    """Put the stand-ins in place, for the rest of the life of this process.

    Raises:
        RuntimeError: Triton is not interpreting, or its interpreter cannot run `dot_scaled`.

    """
    if not triton.knobs.runtime.interpret:
        raise RuntimeError("emulation needs TRITON_INTERPRET=1 before triton is imported")
    _decode_e4m3_scales()
    # Integers wrap on a GPU unless a kernel is compiled for debugging.
    builder = interpreter.interpreter_builder
    builder.options = replace(builder.options, sanitize_overflow=False)
    _leave_arguments_in_place()
    # The first configuration that survives pruning wins: times here would mean nothing.
    autotuner.Autotuner._bench = lambda self, *args, config, **meta: [0.0, 0.0, 0.0]
    triton.runtime.driver.set_active(_Driver())
    for name, stand_in in _CUDA.items():
        setattr(torch.cuda, name, stand_in)
    _send_cuda_to_the_host()
    # Overflow to infinity is an answer on a GPU, not a warning.
    np.seterr(all="ignore")


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
    "get_device_name": _constant(PROPERTIES.name),
    "get_device_capability": _constant(CAPABILITY),
    "get_device_properties": _constant(PROPERTIES),
    "synchronize": _nothing,
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
    "mem_get_info": _constant((PROPERTIES.total_memory, PROPERTIES.total_memory)),
    "manual_seed": torch.default_generator.manual_seed,
    "manual_seed_all": torch.default_generator.manual_seed,
}
"""Without a GPU each of these raises in torch; candidates call them before and around a launch."""


class _Driver:
    """Answers what kernels and launchers ask of `triton.runtime.driver.active`."""

    def __init__(self) -> None:
        self.utils = SimpleNamespace(
            get_device_properties=_constant(
                {
                    "max_shared_mem": PROPERTIES.shared_memory_per_block_optin,
                    "max_num_regs": PROPERTIES.regs_per_multiprocessor,
                    "multiprocessor_count": MULTIPROCESSORS,
                    "warpSize": PROPERTIES.warp_size,
                }
            )
        )

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", CAPABILITY[0] * 10 + CAPABILITY[1], PROPERTIES.warp_size)

    get_current_device = get_current_stream = _constant(0)
    get_active_torch_device = _constant(_HOST)
    get_device_interface = _constant(torch.cuda)
