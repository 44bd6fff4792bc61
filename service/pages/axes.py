"""Where things lie in a picture: its frame, and axes with their marked values."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from service.pages.words import figure

_STEPS = (1, 2, 2.5, 5, 10)


class Frame(NamedTuple):
    """How large a picture is, and the edges that its axes end at; in the units of the picture."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float


class Tick(NamedTuple):
    """A marked value: where it lies, and what is written there."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Axis:
    """From the values `low` to `high` onto the pixels `start` to `end`, which may run downwards."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """Return where a value lies; one beyond an end lies at that end."""
        value = min(max(value, self.low), self.high)
        if self.logarithmic:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self, most: int = 5) -> Sequence[Tick]:
        """Return round values, at most about `most` of them."""
        values = self._decades(most) if self.logarithmic else self._even(most)
        return [Tick(self.at(value), figure(value)) for value in values]

    def _even(self, most: int) -> Iterator[float]:
        rough = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * each for each in _STEPS if power * each >= rough * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return (round(step * count, 12) for count in range(first, last + 1))

    def _decades(self, most: int) -> Sequence[float]:
        """Return 1, 2, 5 of each power of ten; only its 1 where that is enough."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for mantissas in ((1, 2, 5), (1, 3), (1,)):
            values = [m * 10.0**power for power in powers for m in mantissas]
            inside = [value for value in values if self.low <= value <= self.high]
            if len(inside) <= most:
                break
        return inside
