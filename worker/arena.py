"""The memory that judge and runner share, cut into slots at random offsets.

Two pieces, each behind a descriptor that is handed over once. The *host* piece, a sealed memfd,
begins with a control page; in it lie, for a slot, the table of sizes and what a submission receives
in host memory (linear block scales, where the problem has groups). The *device* piece holds the
rest of a slot: packed elements, reordered scales, outputs. It is device memory on a GPU, a second
memfd on a CPU.

Both processes compute the same layout from the sizes, each tensor at a multiple of 256 bytes. The
judge never reads the table back, and believes no other byte but the outputs it compares.
"""

import fcntl
import mmap
import os
import secrets
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final, Protocol, Self

import torch

from kernels.layout import GroupTensors, Layout
from kernels.operands import GroupOperands
from kernels.problem import GroupShape, Problem

ALIGN_BYTES: Final = 256
CONTROL_BYTES: Final = 4096
SLACK_BYTES: Final = 1 << 20
"""Room for the random offset, in each piece."""
SIZES: Final = struct.Struct("<IIII")
"""Of a group: m, n, k and the batch."""
SEALS: Final = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class Piece(Protocol):
    """Memory behind a descriptor: a flat uint8 tensor over all of it."""

    fd: int
    size_bytes: int
    tensor: torch.Tensor

    def close(self) -> None:
        """Give the descriptor back."""


class HostPiece:
    """A memfd that can never change its size, so that nobody can pull memory from under us."""

    def __init__(self, size_bytes: int) -> None:
        """Allocate.

        Raises:
            OSError: no memory; our fault.

        """
        self.size_bytes = size_bytes
        self.fd = os.memfd_create("arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, size_bytes)
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, SEALS)
        self.mapping, self.tensor = attach(self.fd, size_bytes)

    def close(self) -> None:
        """Give the descriptor back; the mapping goes with its last view."""
        os.close(self.fd)


def attach(fd: int, size_bytes: int) -> tuple[mmap.mmap, torch.Tensor]:
    """Map a host piece."""
    mapping = mmap.mmap(fd, size_bytes)
    return mapping, torch.frombuffer(mapping, dtype=torch.uint8)


def aligned(size: int) -> int:
    """Round up to the alignment of every tensor."""
    return -(-size // ALIGN_BYTES) * ALIGN_BYTES


@dataclass(frozen=True, slots=True)
class Room:
    """Bytes a slot takes in either piece."""

    host_bytes: int
    device_bytes: int

    @classmethod
    def of(cls, layout: Layout) -> Self:
        """Add up the tensors of these groups."""
        host, device = _Ruler(_table_bytes(layout)), _Ruler(0)
        for shape in layout.groups:
            layout.tensors(shape, host.take, device.take)
        return cls(host.size_bytes, device.size_bytes)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a slot begins in either piece."""

    host_offset: int
    device_offset: int


@dataclass(frozen=True, slots=True)
class Slot:
    """Views of one slot: the tensors of its groups."""

    layout: Layout
    groups: tuple[GroupTensors, ...]

    @classmethod
    def over(cls, host: torch.Tensor, device: torch.Tensor, place: Place, layout: Layout) -> Self:
        """Lay the views over both pieces, flat uint8 tensors."""
        on_host = _Cursor(host, place.host_offset + _table_bytes(layout))
        on_device = _Cursor(device, place.device_offset)
        groups = (layout.tensors(shape, on_host.take, on_device.take) for shape in layout.groups)
        return cls(layout, tuple(groups))

    @property
    def operands(self) -> tuple[GroupOperands, ...]:
        """All products, in the order in which they are drawn."""
        return tuple(product for group in self.groups for product in group.products())

    @property
    def outputs(self) -> tuple[torch.Tensor, ...]:
        """Float16 `[m, n]`, one a group and entry of the batch."""
        return tuple(output for group in self.groups for output in group.output)


class _Cursor:
    """Takes views one behind the other."""

    def __init__(self, memory: torch.Tensor, position: int) -> None:
        self._memory = memory
        self._position = position

    def take(self, extent: tuple[int, ...]) -> torch.Tensor:
        size = prod(extent)
        view = self._memory[self._position : self._position + size].view(extent)
        self._position += aligned(size)
        return view


class _Ruler:
    """Takes no memory, and notes how much it would have been."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes

    def take(self, extent: tuple[int, ...]) -> torch.Tensor:
        self.size_bytes += aligned(prod(extent))
        return torch.empty(extent, dtype=torch.uint8, device="meta")


def _table_bytes(layout: Layout) -> int:
    return aligned(SIZES.size * len(layout.groups))


class Arena:
    """The judge's side: owns both pieces and places slots."""

    def __init__(self, host: HostPiece, device: Piece) -> None:
        """Take over two pieces; each has `SLACK_BYTES` more than the largest slot."""
        self.host = host
        self.device = device

    def place(self, layout: Layout) -> Place:
        """Choose random offsets for a slot, and write its table: a runner lays its views early."""
        room = Room.of(layout)
        place = Place(
            CONTROL_BYTES + _random_offset(self.host.size_bytes - CONTROL_BYTES, room.host_bytes),
            _random_offset(self.device.size_bytes, room.device_bytes),
        )
        write_sizes(self.host.tensor[place.host_offset :], layout)
        return place

    def close(self) -> None:
        """Give both descriptors back."""
        self.host.close()
        self.device.close()


def host_piece_for(rooms: Sequence[Room]) -> HostPiece:
    """Allocate the host piece for the largest of some slots."""
    largest = max((room.host_bytes for room in rooms), default=0)
    return HostPiece(CONTROL_BYTES + aligned(largest) + SLACK_BYTES)


def device_bytes_for(rooms: Sequence[Room]) -> int:
    """Bytes of a device piece for the largest of some slots."""
    return aligned(max((room.device_bytes for room in rooms), default=0)) + SLACK_BYTES


def _random_offset(size_bytes: int, needed_bytes: int) -> int:
    return secrets.randbelow((size_bytes - needed_bytes) // ALIGN_BYTES + 1) * ALIGN_BYTES


def write_sizes(host: torch.Tensor, layout: Layout) -> None:
    """Write the table at the head of a slot's host part."""
    table = b"".join(SIZES.pack(*shape, layout.batch) for shape in layout.groups)
    host[: len(table)] = torch.frombuffer(bytearray(table), dtype=torch.uint8)


def read_layout(problem: Problem, mapping: mmap.mmap, offset: int, groups: int) -> Layout:
    """Read the table at the head of a slot."""
    table = [SIZES.unpack_from(mapping, offset + index * SIZES.size) for index in range(groups)]
    shapes = tuple(GroupShape(m, n, k) for m, n, k, _ in table)
    return Layout(problem, shapes, table[0][3])
