"""How a call is made: fill a slot, let the runner go, copy the slot away again."""

from dataclasses import dataclass
from typing import Protocol

from worker.arena import Arena, Place
from worker.blame import Failure
from worker.clock import Clock
from worker.ends import End
from worker.ground import Image, get_device, get_host, put_device, put_host
from worker.runner_process import RunnerProcess


@dataclass(frozen=True, slots=True)
class InSlot:
    """One call's content, room for what it looks like afterwards, and where it goes."""

    image: Image
    after: Image
    arena: Arena
    place: Place

    @property
    def groups(self) -> int:
        """How many groups the call has."""
        return len(self.image.slot.groups)


@dataclass(frozen=True, slots=True)
class Turn:
    """Whose turn it is, and for how long: `clock` runs while we wait for it, and only then."""

    runner: RunnerProcess
    clock: Clock
    limit_s: float
    cancel_fd: int


class Road(Protocol):
    """One way to make a call."""

    @property
    def baseline_calls(self) -> int:
        """How many calls of nothing tell what a process adds to events; 0 where none are timed."""

    def call(self, slot: InSlot, turn: Turn) -> tuple[End | Failure, float]:
        """Make it; return its end and the microseconds of our clock. `slot.after` is filled."""

    def leave(self, arena: Arena) -> None:
        """Undo what calls in an arena took: it is given back."""


class PlainRoad:
    """Without a clock of microseconds: fill, go, copy away."""

    baseline_calls = 0

    def call(self, slot: InSlot, turn: Turn) -> tuple[End | Failure, float]:
        """Make a call."""
        put_host(slot.image, slot.arena, slot.place)
        put_device(slot.image, slot.arena, slot.place)
        with turn.clock:
            token = turn.runner.prepare(slot.place, slot.groups)
            end = turn.runner.answer(token, turn.limit_s, turn.cancel_fd)
        get_host(slot.after, slot.arena, slot.place)
        get_device(slot.after, slot.arena, slot.place)
        return end, 0.0

    def leave(self, arena: Arena) -> None:
        """Nothing was taken."""
