"""The memory that judge and runner share, cut into slots at random offsets.

Two pieces, each behind a descriptor that is handed over once. The *host* piece, a sealed memfd,
begins with a control page; in it lie, for a slot, the table of group shapes and the linear block
scales, which a submission receives in host memory. The *device* piece holds the rest of a slot:
packed elements, reordered scales, outputs. It is device memory on a GPU, a second memfd on a CPU.

Both processes compute the same layout from the shapes, each tensor at a multiple of 256 bytes. The
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

from kernels.operands import GroupOperands
from kernels.problem import GroupShape

ALIGN_BYTES: Final = 256
CONTROL_BYTES: Final = 4096
SLACK_BYTES: Final = 1 << 20
"""Room for the random offset, in each piece."""
SHAPE: Final = struct.Struct("<III")
SEALS: Final = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL

Extents = tuple[tuple[int, ...], ...]


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


def _host_extents(shape: GroupShape) -> Extents:
    """Byte shapes of sfa and sfb."""
    m, n, k = shape
    return ((m, k // 16), (n, k // 16))


def _device_extents(shape: GroupShape) -> Extents:
    """Byte shapes of a, b, both reordered scales, and the float16 output."""
    m, n, k = shape
    tiles = -(-k // 64)
    return (
        (m, k // 2),
        (n, k // 2),
        (-(-m // 128), tiles, 32, 4, 4),
        (-(-n // 128), tiles, 32, 4, 4),
        (m, n * 2),
    )


def _size(extents: Extents) -> int:
    return sum(aligned(prod(extent)) for extent in extents)


@dataclass(frozen=True, slots=True)
class Room:
    """Bytes a slot takes in either piece."""

    host_bytes: int
    device_bytes: int

    @classmethod
    def of(cls, groups: Sequence[GroupShape]) -> Self:
        """Add up the layout of these groups."""
        table = aligned(SHAPE.size * len(groups))
        return cls(
            table + sum(_size(_host_extents(shape)) for shape in groups),
            sum(_size(_device_extents(shape)) for shape in groups),
        )


@dataclass(frozen=True, slots=True)
class Place:
    """Where a slot begins in either piece."""

    host_offset: int
    device_offset: int


@dataclass(frozen=True, slots=True)
class Slot:
    """Views of one slot: operands as bytes, outputs as float16 `[m, n]`, one of each a group."""

    operands: tuple[GroupOperands, ...]
    outputs: tuple[torch.Tensor, ...]

    @classmethod
    def over(
        cls,
        host: torch.Tensor,
        device: torch.Tensor,
        place: Place,
        groups: Sequence[GroupShape],
    ) -> Self:
        """Lay the views over both pieces, flat uint8 tensors."""
        on_host = _Cursor(host, place.host_offset + aligned(SHAPE.size * len(groups)))
        on_device = _Cursor(device, place.device_offset)
        operands, outputs = [], []
        for shape in groups:
            sfa, sfb = map(on_host.take, _host_extents(shape))
            a, b, sfa_blocked, sfb_blocked, c = map(on_device.take, _device_extents(shape))
            operands.append(GroupOperands(a, b, sfa, sfb, sfa_blocked, sfb_blocked))
            outputs.append(c.view(torch.float16).view(shape.m, shape.n))
        return cls(tuple(operands), tuple(outputs))


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


class Arena:
    """The judge's side: owns both pieces and places slots."""

    def __init__(self, host: HostPiece, device: Piece) -> None:
        """Take over two pieces; each has `SLACK_BYTES` more than the largest slot."""
        self.host = host
        self.device = device

    def place(self, groups: Sequence[GroupShape]) -> Place:
        """Choose random offsets for a slot, and write its table: a runner lays its views early."""
        room = Room.of(groups)
        place = Place(
            CONTROL_BYTES + _random_offset(self.host.size_bytes - CONTROL_BYTES, room.host_bytes),
            _random_offset(self.device.size_bytes, room.device_bytes),
        )
        write_shapes(self.host.tensor[place.host_offset :], groups)
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


def write_shapes(host: torch.Tensor, groups: Sequence[GroupShape]) -> None:
    """Write the table at the head of a slot's host part."""
    table = b"".join(SHAPE.pack(*shape) for shape in groups)
    host[: len(table)] = torch.frombuffer(bytearray(table), dtype=torch.uint8)


def read_shapes(mapping: mmap.mmap, offset: int, groups: int) -> list[GroupShape]:
    """Read the table at the head of a slot."""
    return [
        GroupShape(*SHAPE.unpack_from(mapping, offset + index * SHAPE.size))
        for index in range(groups)
    ]
