"""What the judge stands on: where operands lie, and what has to happen around a call."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, Self

import numpy as np
import numpy.typing as npt
import torch

from kernels.layout import Layout, fill
from kernels.operands import GroupOperands
from worker.arena import Arena, HostPiece, Piece, Place, Room, Slot, write_sizes

POISON: Final = 0x7EAD
"""A NaN of float16 that no conversion produces: an element that was never written keeps it."""


@dataclass(frozen=True, slots=True)
class Image:
    """The content of a slot in the judge's private memory, laid out as in the arena."""

    host: torch.Tensor
    device: torch.Tensor
    slot: Slot

    @classmethod
    def blank(cls, layout: Layout, device: str) -> Self:
        """Allocate, and fill in nothing."""
        room = Room.of(layout)
        host = torch.empty(room.host_bytes, dtype=torch.uint8)
        memory = torch.empty(room.device_bytes, dtype=torch.uint8, device=device)
        return cls(host, memory, Slot.over(host, memory, Place(0, 0), layout))

    @classmethod
    def load(cls, layout: Layout, operands: Sequence[GroupOperands], device: str) -> Self:
        """Lay out operands, and poison the outputs."""
        image = cls.blank(layout, device)
        write_sizes(image.host, layout)
        fill(image.slot.groups, operands)
        for group in image.slot.groups:
            group.output.view(torch.int16).fill_(POISON)
        return image

    def modified_input(self, after: "Image") -> str | None:
        """Name the first operand that is no longer what was handed out."""
        problem = self.slot.layout.problem
        for group, ours in enumerate(self.slot.groups):
            theirs = after.slot.groups[group].named(problem)
            for name, before in ours.named(problem).items():
                if not torch.equal(before, theirs[name]):
                    return f"group {group}: {name} was changed; operands are read-only"
        return None


class Ground(Protocol):
    """A device, or the CPU in its place."""

    @property
    def emulated(self) -> bool:
        """Whether there is no GPU: no times."""

    @property
    def device(self) -> str:
        """What torch calls it."""

    def piece(self, size_bytes: int) -> Piece:
        """Allocate the device piece of an arena."""


class CpuGround:
    """The CPU in the place of a GPU."""

    emulated = True
    device = "cpu"

    def piece(self, size_bytes: int) -> Piece:
        """Allocate a second memfd."""
        return HostPiece(size_bytes)


def put_host(image: Image, arena: Arena, place: Place) -> None:
    """Copy what lies in host memory into the arena, on this thread alone."""
    _in_arena(image, arena, place)[:] = image.host.numpy()


def put_device(image: Image, arena: Arena, place: Place) -> None:
    """Copy what lies on the device into the arena, at once."""
    arena.device.tensor[place.device_offset :][: len(image.device)].copy_(image.device)


def get_host(image: Image, arena: Arena, place: Place) -> None:
    """Copy it back from the arena, likewise."""
    image.host.numpy()[:] = _in_arena(image, arena, place)


def get_device(image: Image, arena: Arena, place: Place) -> None:
    """Copy it back from the arena, at once."""
    image.device.copy_(arena.device.tensor[place.device_offset :][: len(image.device)])


def _in_arena(image: Image, arena: Arena, place: Place) -> npt.NDArray[np.uint8]:
    # Torch would share the copy with threads, which inherit the core of whoever made them.
    flat: npt.NDArray[np.uint8] = arena.host.tensor.numpy()
    return flat[place.host_offset :][: len(image.host)]
