"""The memory that judge and runner share: one sealed memfd, cut into slots at random offsets.

A slot holds a table of group shapes, then for every group its operands and its output, each at a
multiple of 256 bytes. Both processes compute the same layout from the shapes; the judge never reads
the table back. On a GPU the same layout lies in device memory exported as a file descriptor.
"""

import fcntl
import mmap
import os
import secrets
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import torch

from kernels.operands import GroupOperands
from kernels.problem import GroupShape

ALIGN_BYTES: Final = 256
SLACK_BYTES: Final = 1 << 20
"""Room for the random offset."""
SHAPE: Final = struct.Struct("<III")
SEALS: Final = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


def aligned(size: int) -> int:
    """Round up to the alignment of every tensor."""
    return -(-size // ALIGN_BYTES) * ALIGN_BYTES


def _extents(shape: GroupShape) -> list[tuple[int, ...]]:
    """Return the byte shapes of a, b, sfa, sfb, both blocked scales, and the float16 output."""
    m, n, k = shape
    tiles = -(-k // 64)
    return [
        (m, k // 2),
        (n, k // 2),
        (m, k // 16),
        (n, k // 16),
        (-(-m // 128), tiles, 32, 4, 4),
        (-(-n // 128), tiles, 32, 4, 4),
        (m, n * 2),
    ]


def slot_bytes(groups: Sequence[GroupShape]) -> int:
    """Bytes a slot takes for these groups."""
    total = aligned(SHAPE.size * len(groups))
    for shape in groups:
        total += sum(aligned(_size(extent)) for extent in _extents(shape))
    return total


def _size(extent: tuple[int, ...]) -> int:
    size = 1
    for length in extent:
        size *= length
    return size


@dataclass(frozen=True, slots=True)
class Slot:
    """Views of one slot: operands as bytes, outputs as float16 `[m, n]`, one of each a group."""

    operands: tuple[GroupOperands, ...]
    outputs: tuple[torch.Tensor, ...]

    @classmethod
    def over(cls, memory: torch.Tensor, offset: int, groups: Sequence[GroupShape]) -> Self:
        """Lay the views over `memory`, a flat uint8 tensor."""
        position = offset + aligned(SHAPE.size * len(groups))
        operands, outputs = [], []
        for shape in groups:
            views = []
            for extent in _extents(shape):
                size = _size(extent)
                views.append(memory[position : position + size].view(extent))
                position += aligned(size)
            operands.append(GroupOperands(*views[:6]))
            outputs.append(views[6].view(torch.float16).view(shape.m, shape.n))
        return cls(tuple(operands), tuple(outputs))


class Arena:
    """The judge's side: allocates, and places slots."""

    def __init__(self, size_bytes: int) -> None:
        """Allocate for slots of up to `size_bytes`; the size can never change again.

        Raises:
            OSError: no memory; our fault.

        """
        self.size_bytes = aligned(size_bytes) + SLACK_BYTES
        self.fd = os.memfd_create("arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, self.size_bytes)
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, SEALS)
        self._map = mmap.mmap(self.fd, self.size_bytes)
        self.memory = torch.frombuffer(self._map, dtype=torch.uint8)

    def place(self, groups: Sequence[GroupShape]) -> tuple[int, Slot]:
        """Choose a random offset, write the table of shapes there, and return the views."""
        room = (self.size_bytes - slot_bytes(groups)) // ALIGN_BYTES
        offset = secrets.randbelow(room + 1) * ALIGN_BYTES
        for index, shape in enumerate(groups):
            SHAPE.pack_into(self._map, offset + index * SHAPE.size, *shape)
        return offset, Slot.over(self.memory, offset, groups)

    def close(self) -> None:
        """Give the descriptor back; the mapping goes with its last view."""
        os.close(self.fd)


def attach(fd: int, size_bytes: int) -> tuple[mmap.mmap, torch.Tensor]:
    """Map an arena in the runner."""
    mapping = mmap.mmap(fd, size_bytes)
    return mapping, torch.frombuffer(mapping, dtype=torch.uint8)


def read_shapes(mapping: mmap.mmap, offset: int, groups: int) -> list[GroupShape]:
    """Read the table at the head of a slot."""
    return [
        GroupShape(*SHAPE.unpack_from(mapping, offset + index * SHAPE.size))
        for index in range(groups)
    ]
