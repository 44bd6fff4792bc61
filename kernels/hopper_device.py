"""The Hopper kernels on one device: compiled for the widths of a plan, launched with its records.

Plans and compiled kernels are kept by shapes and by widths for the life of the process, machine
code also on disk beside Triton's. What one launch leaves for another part of itself (decoded A,
float32 sums and their flags) belongs to a stream: calls on different streams do not meet.
"""

import ctypes
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from threading import Lock

import torch
import triton
from torch import Tensor

from kernels import hopper_plan, hopper_records
from kernels.cuda_driver import MAP_BYTES, Module, Opaque, PackedRows, Start
from kernels.hopper_plan import Plan
from kernels.hopper_records import (
    DECODE_SHARED_BYTES,
    DECODE_THREADS,
    SHARED_BYTES,
    THREADS,
    Launch,
)
from kernels.nvrtc import CompileError, compile_cubin
from kernels.problem import GroupShape

_logger = logging.getLogger(__name__)

_SOURCES = Path(__file__).with_name("hopper")
_OPTIONS = ("-arch=sm_90a", "-std=c++17", "-default-device")
_PLANS = 256
"""Shapes whose plans are kept."""


def products(widths: Sequence[int]) -> str:
    """Return the header `wgmma.cu`: the product of every width, and WIDTHS."""
    lines = []
    for width in widths:
        count = width // 2
        outputs = ", ".join(f'"+f"(sums[{index}])' for index in range(count))
        registers = ", ".join(f"%{index}" for index in range(count))
        left = ", ".join(f"%{count + index}" for index in range(4))
        lines.append(f"""template <>
__device__ __forceinline__ void wgmma<{width}>(
    float (&sums)[{count}], const u32* left, u64 right) {{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n{width}k16.f32.f16.f16 "
        "{{{registers}}}, {{{left}}}, %{count + 4}, 1, 1, 1, 0;"
        : {outputs}
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));
}}""")
    lines.append("#define WIDTHS(F) " + " ".join(f"F({width})" for width in widths))
    return "\n".join(lines) + "\n"


def machine_code(widths: Sequence[int], folder: Path) -> bytes:
    """Return the machine code for a set of widths; says so where the assembler was not content."""
    headers = {
        "instructions.cu": (_SOURCES / "instructions.cu").read_text(),
        "wgmma.cu": products(widths),
    }
    source = (_SOURCES / "gemm.cu").read_text()
    build = compile_cubin(source, headers, _OPTIONS, folder)
    for warning in build.warnings:
        _logger.warning("widths %s: %s", widths, warning)
    if build.spill_bytes:
        _logger.warning("widths %s: %s bytes of registers spill", widths, build.spill_bytes)
    return build.cubin


@dataclass(frozen=True, slots=True)
class _Kernels:
    decode_a: Opaque
    grouped_gemm: Opaque
    module: Module
    """Keeps them loaded."""


@dataclass(slots=True)
class _Scratch:
    """What belongs to a stream."""

    sums: Tensor
    flags: Tensor
    images: Tensor


class Call:
    """A plan of some shapes, ready to be launched."""

    def __init__(self, launch: Launch, kernels: _Kernels, maps: Sequence[PackedRows]) -> None:
        self.launch = launch
        self._maps = maps
        self._lock = Lock()  # from the first address that is written to the last launch
        self._sums, self._flags = ctypes.c_uint64(), ctypes.c_uint64()
        grid = launch.units, launch.chunks
        self._decode = Start(kernels.decode_a, grid, DECODE_THREADS, DECODE_SHARED_BYTES)
        self._decode.pass_arguments((launch.problem.table, ctypes.c_int32(len(maps))))
        self._gemm = Start(kernels.grouped_gemm, (launch.blocks, 1), THREADS, SHARED_BYTES)
        self._gemm.pass_arguments((launch.problem, self._sums, self._flags))
        self._gemm.overlap()

    def run(self, addresses: Sequence[Sequence[int]], scratch: _Scratch, stream: int) -> None:
        """Launch on the current stream, which is `stream`."""
        launch = self.launch
        with self._lock:
            launch.address(addresses, scratch.images.data_ptr())
            for (_, b, *_), where, packed in zip(
                addresses, launch.map_places, self._maps, strict=True
            ):
                packed.write(b, where)
            if launch.has_more_groups:
                table = torch.frombuffer(launch.groups, dtype=torch.uint8).clone().pin_memory()
                groups = table.to(scratch.images.device, non_blocking=True)
                launch.problem.table.more_groups = groups.data_ptr()
            self._sums.value = scratch.sums.data_ptr()
            self._flags.value = scratch.flags.data_ptr()
            self._decode(stream)
            self._gemm(stream)


class Unbuildable(Exception):
    """The kernels cannot be made on this machine; the message says why."""


class HopperDevice:
    """One device of compute capability 9.0."""

    def __init__(self, index: int) -> None:
        """Ask for the number of multiprocessors; the rest happens when it is needed."""
        self._device = torch.device("cuda", index)
        count = torch.cuda.get_device_properties(self._device).multi_processor_count
        self.blocks = min(count, hopper_records.BLOCKS)
        """At most so many are launched, one a multiprocessor."""
        self._scratch: dict[int, _Scratch] = {}
        self._items: list[Tensor] = []
        self._lacks: str | None = None
        self._kernels = cache(self._load)
        self._planned = lru_cache(_PLANS)(self._plan)

    def ready(self, shapes: tuple[GroupShape, ...]) -> Call:
        """Return the best plan of groups with rows, compiled; the same one for the same shapes.

        Raises:
            Unbuildable: the machine lacks what it takes; said once and remembered.

        """
        if self._lacks is not None:
            raise Unbuildable(self._lacks)
        try:
            with torch.cuda.device(self._device):
                return self._planned(shapes)
        except (CompileError, ImportError, OSError, RuntimeError) as error:
            self._lacks = f"cannot be built here: {error}"
            raise Unbuildable(self._lacks) from error

    def run(self, call: Call, addresses: Sequence[Sequence[int]]) -> None:
        """Run a prepared call on the current stream; addresses are a, b, sfa, sfb, c of each."""
        with torch.cuda.device(self._device):
            stream = torch.cuda.current_stream().cuda_stream
            call.run(addresses, self._scratch_of(stream, call.launch.image_bytes), stream)

    def prepare(self, shapes: Sequence[GroupShape], plan: Plan) -> Call:
        """Make a plan of these shapes ready to be launched."""
        launch = Launch(shapes, plan)
        # Kept for good, a few kilobytes: calls on any stream may read them.
        items = torch.frombuffer(launch.items, dtype=torch.uint8).to(self._device)
        launch.problem.items = items.data_ptr()
        self._items.append(items)
        # Where b is, a call says; to describe it, any address will do.
        anywhere = torch.empty(MAP_BYTES, dtype=torch.uint8, device=self._device).data_ptr()
        maps = [PackedRows(anywhere, shape.n, shape.k // 2, hopper_plan.ROWS) for shape in shapes]
        return Call(launch, self._kernels(plan.widths), maps)

    def _plan(self, shapes: tuple[GroupShape, ...]) -> Call:
        return self.prepare(shapes, hopper_plan.make_plan(shapes, self.blocks))

    def _scratch_of(self, stream: int, image_bytes: int) -> _Scratch:
        found = self._scratch.get(stream)
        if found is None:
            sums = self.blocks * hopper_records.SUM_FLOATS
            found = self._scratch[stream] = _Scratch(
                torch.empty(sums, dtype=torch.float32, device=self._device),
                torch.zeros(self.blocks * 2, dtype=torch.int32, device=self._device),
                torch.empty(0, dtype=torch.uint8, device=self._device),
            )
        if found.images.numel() < image_bytes:
            found.images = torch.empty(image_bytes, dtype=torch.uint8, device=self._device)
        return found

    def _load(self, widths: tuple[int, ...]) -> _Kernels:
        module = Module(machine_code(widths, Path(triton.knobs.cache.dir) / "halfbyte"))
        gemm = module.function("grouped_gemm", SHARED_BYTES)
        return _Kernels(module.function("decode_a"), gemm, module)


@cache
def _device(index: int) -> HopperDevice:
    return HopperDevice(index)


def device_of(device: torch.device) -> HopperDevice:
    """Return the one object of a device."""
    return _device(torch.cuda.current_device() if device.index is None else device.index)
