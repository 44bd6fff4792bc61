"""Settings of the queue. Read from HALFBYTE_QUEUE_... once, in a main module."""

from typing import Self

from pydantic import PositiveInt, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict


class QueueSettings(BaseSettings):
    """Where the queue is, and how long things last."""

    model_config = SettingsConfigDict(env_prefix="HALFBYTE_QUEUE_", frozen=True)

    redis_url: str = "redis://127.0.0.1:6379/0"
    prefix: str = "halfbyte"
    """First part of every key."""
    lease_s: float = 15
    """How long a job stays with a worker that is not heard of; at least four beats."""
    beat_s: float = 2
    """Time between two renewals of a lease, and between two heartbeats of a worker."""
    max_attempts: int = 2
    max_queued: int = 100_000
    """Jobs that may wait; one more is refused with 503."""
    no_worker_s: float = 600
    """A job that waits this long while no live worker serves its device fails with `no_worker`."""
    retention_s: float = 7 * 86_400
    """How long an ended job, its source and its verdict are kept."""
    idempotency_s: float = 86_400
    events_kept: int = 1_000
    """Events kept of one job."""
    results_kept: PositiveInt = 500
    """Ranked results kept of one owner on one leaderboard; the slowest go first."""
    ranked_kept: PositiveInt = 100_000
    """Entries kept of the feed of ranked verdicts, about; the oldest go first."""

    @model_validator(mode="after")
    def _beats_fit_into_a_lease(self) -> Self:
        # Reapers call once a beat, and half a lease without one counts as an outage of Redis.
        if self.lease_s < 4 * self.beat_s:
            raise ValueError(f"lease_s must be at least four beat_s, got {self.lease_s} s")
        return self
