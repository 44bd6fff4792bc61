"""What the judge stands on: where operands lie, and what has to happen around a call."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, Self

import torch

from kernels.operands import GroupOperands
from worker.arena import Arena, HostPiece, Piece, Place, Room, Slot, write_shapes

POISON: Final = 0x7EAD
"""A NaN of float16 that no conversion produces: an element that was never written keeps it."""


@dataclass(frozen=True, slots=True)
class Image:
    """The content of a slot in the judge's private memory, laid out as in the arena."""

    host: torch.Tensor
    device: torch.Tensor
    slot: Slot

    @classmethod
    def load(cls, operands: Sequence[GroupOperands], device: str) -> Self:
        """Lay out operands, and poison the outputs."""
        shapes = [group.shape for group in operands]
        room = Room.of(shapes)
        host = torch.empty(room.host_bytes, dtype=torch.uint8)
        memory = torch.empty(room.device_bytes, dtype=torch.uint8, device=device)
        slot = Slot.over(host, memory, Place(0, 0), shapes)
        write_shapes(host, shapes)
        for ours, theirs in zip(operands, slot.operands, strict=True):
            for (_, given), (_, laid_out) in zip(named(ours), named(theirs), strict=True):
                laid_out.copy_(given)
        for output in slot.outputs:
            output.view(torch.int16).fill_(POISON)
        return cls(host, memory, slot)

    def snapshot(self, arena: Arena, place: Place) -> "Image":
        """Copy the slot of an arena away, all of it, at once."""
        shapes = [group.shape for group in self.slot.operands]
        device = arena.device.tensor[place.device_offset :][: len(self.device)].clone()
        host = arena.host.tensor[place.host_offset :][: len(self.host)].clone()
        return Image(host, device, Slot.over(host, device, Place(0, 0), shapes))

    def modified_input(self, after: "Image") -> str | None:
        """Name the first operand that is no longer what was handed out."""
        pairs = zip(self.slot.operands, after.slot.operands, strict=True)
        for group, (ours, theirs) in enumerate(pairs):
            for (name, before), (_, now) in zip(named(ours), named(theirs), strict=True):
                if not torch.equal(before, now):
                    return f"group {group}: {name} was changed; operands are read-only"
        return None

    def reference_operands(self) -> list[GroupOperands]:
        """Return the operands with the linear scales on the device, as the reference wants them."""
        return [
            GroupOperands(
                group.a,
                group.b,
                group.sfa.to(group.a.device),
                group.sfb.to(group.a.device),
                group.sfa_blocked,
                group.sfb_blocked,
            )
            for group in self.slot.operands
        ]


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

    def stage(self, image: Image, arena: Arena, place: Place) -> float:
        """Copy an image into the arena; return the microseconds that the device took."""

    def cover(self) -> int:
        """Begin to flush the caches, which keeps the device busy: work queues behind it.

        Returns when it began, as `time.perf_counter_ns` has it.
        """

    def covered_us(self) -> float:
        """Return how long that was."""


class CpuGround:
    """The CPU in the place of a GPU."""

    emulated = True
    device = "cpu"

    def piece(self, size_bytes: int) -> Piece:
        """Allocate a second memfd."""
        return HostPiece(size_bytes)

    def stage(self, image: Image, arena: Arena, place: Place) -> float:
        """Copy. There is nothing to time."""
        copy_host(image, arena, place)
        copy_device(image, arena, place)
        return 0.0

    def cover(self) -> int:
        """There is nothing to flush."""
        return time.perf_counter_ns()

    def covered_us(self) -> float:
        """Nothing was."""
        return 0.0


def copy_host(image: Image, arena: Arena, place: Place) -> None:
    """Copy what lies in host memory."""
    arena.host.tensor[place.host_offset :][: len(image.host)].copy_(image.host)


def copy_device(image: Image, arena: Arena, place: Place) -> None:
    """Copy what lies on the device, at once."""
    arena.device.tensor[place.device_offset :][: len(image.device)].copy_(image.device)


def named(group: GroupOperands) -> tuple[tuple[str, torch.Tensor], ...]:
    """Return the operands of a group under the names that authors know."""
    return (
        ("a", group.a),
        ("b", group.b),
        ("sfa", group.sfa),
        ("sfb", group.sfb),
        ("sfa_reordered", group.sfa_blocked),
        ("sfb_reordered", group.sfb_blocked),
    )
