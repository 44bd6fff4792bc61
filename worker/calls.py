"""One call, checked: draw, stage, release, snapshot, compare."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import torch

from contract.submission import Limits
from kernels.compare import compare, describe
from kernels.measurement import Comparison
from kernels.operands import draw
from kernels.problem import Case, Distribution
from worker.arena import Arena, Place, Room, device_bytes_for, host_piece_for
from worker.blame import Failure, blame
from worker.control import ControlPage
from worker.ground import POISON, Ground, Image
from worker.protocol import Job, Status
from worker.review import Flag, from_text
from worker.runner_process import Answered, End, RunnerProcess, source_memfd
from worker.sampling import Calibration, Sample

WAKE_S: Final = 5.0
ANSWER_S: Final = 1.0
STAGINGS: Final = 2
"""A staging that is too slow is repeated once: twice is no accident."""


@dataclass(slots=True)
class Clock:
    """The candidate's time: its import and its calls, never our own work."""

    limits: Limits
    used_s: float = 0.0
    started_s: float = field(default_factory=time.monotonic)

    def limit(self, name: str, limit_s: float) -> tuple[str, float]:
        """Return the limit that applies next: its own, or what is left of the job's."""
        left_s = max(0.0, self.limits.job_s - self.used_s)
        return (name, limit_s) if limit_s <= left_s else ("job_limit", left_s)

    def start(self) -> None:
        """Begin to count."""
        self.started_s = time.monotonic()

    def stop(self) -> None:
        """Stop counting."""
        self.used_s += time.monotonic() - self.started_s


@dataclass(frozen=True, slots=True)
class Called:
    """A call that answered: what was compared, how long it took, and whether it fails."""

    comparison: Comparison
    sample: Sample | None
    failure: Failure | None


class Calls:
    """All calls of one job on one runner."""

    def __init__(
        self,
        runner: RunnerProcess,
        ground: Ground,
        calibration: Calibration | None,
        limits: Limits,
        cancel_fd: int,
    ) -> None:
        """Take the runner; the caller closes it. `calibration` is None where nothing is timed."""
        self._runner = runner
        self._ground = ground
        self._calibration = calibration
        self._limits = limits
        self._cancel_fd = cancel_fd
        self._clock = Clock(limits)
        self._arena: Arena | None = None
        self.count = 0
        """Calls that answered."""
        self.review: tuple[Flag, ...] = ()
        """What a person should look at in the file."""

    def open(self, source: bytes, cases: Sequence[Case]) -> Failure | None:
        """Allocate the arena for the largest case, and have the runner import the file."""
        rooms = [Room.of(case.groups) for case in cases]
        host = host_piece_for(rooms)
        device = self._ground.piece(device_bytes_for(rooms))
        self._arena = Arena(host, device)
        job = Job(host.size_bytes, device.size_bytes, len(source), self._ground.emulated)
        limit, limit_s = self._clock.limit("import_limit", self._limits.import_s)
        source_fd = source_memfd(source)
        self._clock.start()
        try:
            descriptors = (host.fd, device.fd, source_fd)
            end = self._runner.start_job(job, descriptors, limit_s, self._cancel_fd)
            if isinstance(end, Answered) and end.answer.status is Status.REVIEWED:
                self.review = from_text(end.answer.text)
                end = self._runner.answer(0, limit_s, self._cancel_fd)
        finally:
            self._clock.stop()
            os.close(source_fd)
        if isinstance(end, Answered) and end.answer.status is Status.IMPORTED:
            return None
        return blame(end, compiling=True, limit=limit)

    def close(self) -> None:
        """Give the arena back."""
        if self._arena is not None:
            self._arena.close()

    def call(self, case: Case, distribution: Distribution, seed: int) -> Failure | Called:
        """Make one call with operands of its own and compare every element."""
        assert self._arena is not None
        image = Image.load(draw(case, seed, distribution), self._ground.device)
        place = self._arena.place(case.groups)
        limits = self._limits
        call_s = limits.emulated_call_s if self._ground.emulated else limits.call_s
        limit, limit_s = self._clock.limit("call_limit", call_s)
        released = self._release(image, self._arena, place, limit_s)
        if isinstance(released, Failure):
            return released
        end, wall_us = released
        if not (isinstance(end, Answered) and end.answer.status is Status.DONE):
            return blame(end, compiling=self.count == 0, limit=limit)
        after = image.snapshot(self._arena, place)
        self.count += 1
        outputs = after.slot.outputs
        official = distribution == "official"
        comparison = compare(outputs, image.reference_operands(), official=official)
        changed = image.modified_input(after)
        if changed is not None:
            failure: Failure | None = Failure("incorrect", "inputs_modified", changed)
        else:
            where = "" if distribution == case.distribution else f" (on {distribution} operands)"
            failure = wrong_values(comparison, outputs, where)
        sample = Sample(end.answer.event_us, wall_us, end.answer.host_us)
        return Called(comparison, None if self._ground.emulated else sample, failure)

    def _release(
        self, image: Image, arena: Arena, place: Place, limit_s: float
    ) -> Failure | tuple[End, float]:
        """Stage and let the runner go; return its end and what our clock saw."""
        groups = len(image.slot.outputs)
        if self._ground.emulated:
            self._ground.stage(image, arena, place)
            token = self._runner.prepare(place, groups)
            self._clock.start()
            try:
                return self._runner.answer(token, limit_s, self._cancel_fd), 0.0
            finally:
                self._clock.stop()
        return self._release_timed(image, arena, place, limit_s)

    def _release_timed(
        self, image: Image, arena: Arena, place: Place, limit_s: float
    ) -> Failure | tuple[End, float]:
        """Stage, wake the runner, cover the device with a flush, and release behind it."""
        control = ControlPage(arena.host.mapping)
        token = self._runner.prepare(place, len(image.slot.outputs))
        if (foreign := self._stage_alone(image, arena, place)) is not None:
            return foreign
        self._clock.start()
        try:
            if not self._runner.wake(token, control, WAKE_S, self._cancel_fd):
                return self._runner.answer(token, ANSWER_S, self._cancel_fd), 0.0
            started_ns = self._ground.cover()
            end, finished_ns = self._runner.release(token, control, limit_s, self._cancel_fd)
        finally:
            self._clock.stop()
        covered_us = self._ground.covered_us()
        if self._calibration is not None and covered_us > self._calibration.cover_limit_us:
            return _resident(f"a flush took {covered_us:.0f} us")
        return end, (finished_ns - started_ns) / 1e3 - covered_us

    def _stage_alone(self, image: Image, arena: Arena, place: Place) -> Failure | None:
        """Stage, and see by how long it took that nobody else used the device."""
        if self._calibration is None:
            self._ground.stage(image, arena, place)
            return None
        limit_us = self._calibration.staging_limit_us(len(image.device))
        for _ in range(STAGINGS):
            if self._ground.stage(image, arena, place) <= limit_us:
                return None
        return _resident(f"staging took over {limit_us:.0f} us, twice")


def _resident(how: str) -> Failure:
    return Failure("rejected", "resident_kernel", f"the device was in use outside of a call: {how}")


def wrong_values(
    comparison: Comparison, outputs: Sequence[torch.Tensor], where: str
) -> Failure | None:
    """Return the failure where values are outside the bound; `where` ends its sentence."""
    if comparison.within_bound:
        return None
    message = describe(comparison)
    worst = comparison.worst
    if worst is not None:
        element = outputs[worst.group][worst.row, worst.col]
        if element.view(torch.int16).item() == POISON:
            message += "; this element was never written"
    return Failure("incorrect", "values", message + where)
