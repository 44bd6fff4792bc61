"""The Hopper kernels on a CPU: the CUDA source with other instructions, see hopper_emulator."""

import ctypes
import struct
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from kernels.compare import compare
from kernels.group_table import read_groups
from kernels.hopper_plan import Plan
from kernels.hopper_records import SUM_FLOATS, Launch
from kernels.layout import submission_data
from kernels.measurement import Comparison
from kernels.operands import GroupOperands, draw
from kernels.problem import Case, GroupShape
from tests.kernels.in_emulation import ROOT

SOURCE = ROOT / "kernels" / "hopper" / "gemm.cu"
EMULATOR = Path(__file__).with_name("hopper_emulator")
COMPILER = ("g++", "-x", "c++", "-std=c++20", "-O1", "-w", "-Wno-psabi", "-shared", "-fPIC")
ALIGN_BYTES = 64

Change = Callable[[str], str]


class KernelFailed(Exception):
    """Threads wait for each other, or one did what no thread may."""


class EmulatedKernels:
    """Both kernels, compiled for some widths; `change` edits the source before."""

    def __init__(
        self, folder: Path, widths: Sequence[int], change: Change = lambda source: source
    ) -> None:
        self.widths = tuple(widths)
        wanted = " ".join(f"F({width})" for width in widths)
        (folder / "wgmma.cu").write_text(f"#define WIDTHS(F) {wanted}\n")
        (folder / "instructions.cu").write_text((EMULATOR / "instructions.cu").read_text())
        source = change(SOURCE.read_text()) + (EMULATOR / "run.cu").read_text()
        (folder / "all.cu").write_text(source)
        library = folder / "kernels.so"
        subprocess.run([*COMPILER, "-o", library, folder / "all.cu"], check=True)
        self._library = ctypes.CDLL(str(library))
        self._library.run.restype = ctypes.c_char_p

    def constant(self, name: str) -> int:
        """Return a number that the source exports."""
        value: int = getattr(self._library, name)()
        return value

    def compare(
        self, case: Case, make_plan: Callable[[Sequence[GroupShape]], Plan], seed: int = 1
    ) -> Comparison:
        """Run a case by a plan and compare the outputs; its empty groups are left out."""
        groups = [_aligned_group(group) for group in draw(case, seed)]
        outputs = [_aligned(torch.full((m, n), torch.nan).half()) for m, n, _ in case.groups]
        table = read_groups(submission_data(groups, outputs))
        plan = make_plan(table.shapes)
        assert plan.widths == self.widths
        launch = Launch(table.shapes, plan)
        images = _aligned(torch.full((launch.image_bytes,), 0x7F, dtype=torch.uint8))
        launch.address(table.addresses, images.data_ptr())
        for where, shape, (_, b, *_) in zip(
            launch.map_places, table.shapes, table.addresses, strict=True
        ):
            ctypes.memmove(where, struct.pack("=4Q", b, shape.k // 2, shape.n, 128), 32)
        self._run(launch, len(table.shapes), seed)
        return compare(outputs, groups, official=case.distribution == "official")

    def _run(self, launch: Launch, groups: int, seed: int) -> None:
        if launch.has_more_groups:
            launch.problem.table.more_groups = ctypes.addressof(launch.groups)
        launch.problem.items = ctypes.addressof(launch.items)
        problem = _aligned(torch.frombuffer(launch.problem, dtype=torch.uint8))
        sums = _aligned(torch.full((launch.blocks * SUM_FLOATS,), torch.nan))
        flags = torch.zeros(launch.blocks * 2, dtype=torch.int32)
        fault = self._library.run(
            ctypes.c_void_p(problem.data_ptr()),
            groups,
            launch.units,
            launch.chunks,
            launch.blocks,
            ctypes.c_void_p(sums.data_ptr()),
            ctypes.c_void_p(flags.data_ptr()),
            seed,
        )
        if fault:
            raise KernelFailed(fault.decode())
        if flags.any():
            raise KernelFailed("flags are left for the next launch")


def _aligned_group(group: GroupOperands) -> GroupOperands:
    names = ("a", "b", "sfa", "sfb", "sfa_blocked", "sfb_blocked")
    return GroupOperands(*(_aligned(getattr(group, name)) for name in names))


def _aligned(tensor: Tensor) -> Tensor:
    """Return a copy that starts where memory of a device does."""
    room = torch.empty(tensor.numel() * tensor.element_size() + ALIGN_BYTES, dtype=torch.uint8)
    start = -room.data_ptr() % ALIGN_BYTES
    flat = room[start : start + tensor.numel() * tensor.element_size()].view(tensor.dtype)
    copy = flat.view(tensor.shape)
    copy.copy_(tensor)
    return copy
