"""How much of its job's time a candidate has used."""

import time
from dataclasses import dataclass, field

from contract.limits import Limits


@dataclass(slots=True)
class Clock:
    """The candidate's time: its import and its calls, never our own work.

    It runs inside a `with`.
    """

    limits: Limits
    used_s: float = 0.0
    _started_s: float = field(default=0.0, repr=False)

    def limit(self, name: str, limit_s: float) -> tuple[str, float]:
        """Return the limit that applies next: its own, or what is left of the job's."""
        left_s = max(0.0, self.limits.job_s - self.used_s)
        return (name, limit_s) if limit_s <= left_s else ("job_limit", left_s)

    def __enter__(self) -> None:
        """Begin to count."""
        self._started_s = time.monotonic()

    def __exit__(self, *_: object) -> None:
        """Stop counting."""
        self.used_s += time.monotonic() - self._started_s
