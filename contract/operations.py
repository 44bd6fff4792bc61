"""What operators ask: how the queue is doing, and that a worker takes no further job.

The counters live in Redis and are raised inside the transitions they count, so they outlive every
process, are the same in all of them, and count nothing twice when a command is repeated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contract.device import CPU, device_of, line_of
from contract.job import Job, WorkerInfo, WorkerState
from contract.prelude import DURATION_BUCKETS_S, PRELUDE
from contract.records import worker_from
from contract.store import Store
from contract.submission import Mode

NO_TIMES = (
    "no live worker here has a GPU: there will be no times, and the official cases of this mode "
    "are large for a CPU (mode `test` has small ones)"
)
_FIGURES = (
    PRELUDE
    + """
local lines, workers = {}, {}
for _, device in ipairs(redis.call('SMEMBERS', key('devices'))) do
  for _, mode in ipairs(given.modes) do
    local line = key('line', device, mode)
    local oldest = redis.call('ZRANGE', line, 0, 0, 'WITHSCORES')
    if #oldest > 0 then
      lines[#lines + 1] = {device, mode, redis.call('ZCARD', line), now - oldest[2]}
    end
  end
end
local rows = redis.call('ZRANGE', key('workers'), 0, -1, 'WITHSCORES')
for row = 1, #rows, 2 do
  local worker = redis.call('GET', key('worker', rows[row]))
  if worker then workers[#workers + 1] = {worker, rows[row + 1], now - rows[row + 1]} end
end
return {lines, workers, redis.call('ZCARD', key('leases')),
  redis.call('ZCARD', key('callbacks')) + redis.call('ZCARD', key('posts')),
  tonumber(redis.call('GET', key('number')) or 0), redis.call('HGETALL', key('counters'))}
"""
)
_DRAIN = (
    PRELUDE
    + """
local worker = redis.call('GET', key('worker', given.worker))
if not worker then return false end
redis.call('SET', key('drain', given.worker), 1, 'PX', DAY_MS)
return {worker, redis.call('ZSCORE', key('workers'), given.worker)}
"""
)


@dataclass(frozen=True, slots=True)
class Line:
    """The jobs of one mode that wait for one device."""

    device: str
    mode: Mode
    waiting: int
    oldest_s: float
    """Age of the oldest, from its submission."""


@dataclass(frozen=True, slots=True)
class Durations:
    """How long a stage took, counted."""

    counts: tuple[int, ...]
    """By bucket of DURATION_BUCKETS_S, and the last without end; not cumulative."""
    sum_s: float


@dataclass(frozen=True, slots=True)
class Figures:
    """The queue at one moment, and what it counted since it was made."""

    lines: Sequence[Line]
    workers: Sequence[tuple[WorkerInfo, float]]
    """Live workers, and seconds since the last heartbeat of each."""
    running: int
    callbacks: int
    """Callbacks not yet delivered."""
    submitted: int
    counters: Mapping[str, int]
    """`attempts`, `renewals`, `requeued`, `leases_expired`, and by `counted`."""
    durations: Mapping[tuple[str, Mode], Durations]
    """By stage (`queued`, `running`) and mode."""

    def estimated_start_s(self, job: Job) -> float | None:
        """Return a rough guess of the seconds until a queued job starts.

        From its position, the workers that serve its device, and how long jobs of its mode took of
        late. None where it is not queued, or where there is no worker or no experience.
        """
        able = self._able(job)
        recent_ms = self.counters.get(f"recent_ms:running:{job.mode}")
        if job.position is None or not able or recent_ms is None:
            return None
        idle = sum(worker.state is WorkerState.IDLE for worker in able)
        return max(0, job.position - idle) * recent_ms / 1000 / len(able)

    def hint(self, job: Job) -> str | None:
        """Return what whoever waits for a queued job should know; None where that is nothing."""
        if job.position is None:
            return None
        if able := self._able(job):
            emulated = all(worker.device == CPU for worker in able)
            return NO_TIMES if emulated and job.mode is Mode.BENCHMARK else None
        alive = [worker for worker, _ in self.workers if worker.takes(job.mode)]
        devices = sorted({device for worker in alive for device in worker.serves})
        told = f"; live ones take them for {', '.join(devices)}" if devices else ""
        return f"no live worker takes jobs of mode {job.mode} for device {job.device}{told}"

    def _able(self, job: Job) -> Sequence[WorkerInfo]:
        line = line_of(job.device, job.mode)
        return [worker for worker, _ in self.workers if line in worker.lines]

    def counted(self, what: str) -> Mapping[str, int]:
        """Return a counter by label: `verdict` by outcome, `failed` by reason, and so on."""
        return {
            name.partition(":")[2]: value
            for name, value in self.counters.items()
            if name.startswith(f"{what}:")
        }


class Operations:
    """Figures and steering. Any method raises `QueueUnavailable` while Redis does not answer."""

    def __init__(self, store: Store) -> None:
        """Look at the queue of this store."""
        self._store = store

    async def figures(self) -> Figures:
        """Return how the queue is now, in one look."""
        reply = await self._store.run(_FIGURES, modes=list(Mode))
        lines, workers, running, callbacks, submitted, flat = reply
        counters = {
            name.decode(): int(value) for name, value in zip(flat[::2], flat[1::2], strict=True)
        }
        return Figures(
            lines=[
                Line(device_of(line.decode()), Mode(mode.decode()), waiting, age_ms / 1000)
                for line, mode, waiting, age_ms in lines
            ],
            workers=[(worker_from(info, beat), age_ms / 1000) for info, beat, age_ms in workers],
            running=running,
            callbacks=callbacks,
            submitted=submitted,
            counters=counters,
            durations=_durations(counters),
        )

    async def drain(self, worker_id: str) -> WorkerInfo | None:
        """Ask a worker to end once its job has; None where there is none of this id.

        It hears of it with its next heartbeat.
        """
        found = await self._store.run(_DRAIN, worker=worker_id)
        return None if found is None else worker_from(*found)


def _durations(counters: Mapping[str, int]) -> Mapping[tuple[str, Mode], Durations]:
    found = {}
    for name, sum_ms in counters.items():
        if name.startswith("took_ms:"):
            _, stage, mode = name.split(":")
            ends = (*map(str, DURATION_BUCKETS_S), "inf")
            counts = tuple(counters.get(f"took:{stage}:{mode}:{end}", 0) for end in ends)
            found[stage, Mode(mode)] = Durations(counts, sum_ms / 1000)
    return found
