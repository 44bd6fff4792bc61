"""One call, checked: draw, stage, release, snapshot, compare."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import torch

from contract.limits import Limits
from kernels.compare import compare, describe
from kernels.layout import Layout
from kernels.measurement import Comparison
from kernels.operands import draw
from kernels.problem import Case, Distribution, Problem
from kernels.problems import NVFP4_GROUP_GEMM
from worker.arena import Arena, Room, device_bytes_for, host_piece_for
from worker.baseline import CALL_S, LAYOUT, baseline_of
from worker.blame import Failure, blame, in_gib
from worker.clock import Clock
from worker.ends import Answered, End
from worker.ground import POISON, Ground, Image
from worker.protocol import Job, Status
from worker.review import Flag, from_text
from worker.road import InSlot, Road, Turn
from worker.runner_process import RunnerProcess, source_memfd
from worker.sampling import Baseline, Sample

HOG_SHARE: Final = 0.5
"""Who holds more of the device than this while the judge finds none is to blame for it."""
SLOW_HERE: Final = (
    "a CPU stands in for a GPU here, which is slow: mode `test` has small cases, "
    "or send smaller or fewer ones"
)


@dataclass(frozen=True, slots=True)
class Called:
    """What became of a call: what was compared, how long it took, and whether it fails."""

    comparison: Comparison | None = None
    """None where it did not answer."""
    sample: Sample | None = None
    failure: Failure | None = None
    took_s: float = 0.0
    """Of the candidate's time."""


class Calls:
    """All calls of one job on one runner."""

    def __init__(
        self,
        runner: RunnerProcess,
        ground: Ground,
        road: Road,
        limits: Limits,
        cancel_fd: int,
        problem: Problem = NVFP4_GROUP_GEMM,
    ) -> None:
        """Take the runner; the caller closes it."""
        self._problem = problem
        self._runner = runner
        self._ground = ground
        self._road = road
        self._limits = limits
        self._cancel_fd = cancel_fd
        self._clock = Clock(limits)
        self._arena: Arena | None = None
        self.baseline: Baseline | None = None
        """What the process adds to events; None where that was not measured."""
        self.count = 0
        """Calls that answered."""
        self.review: tuple[Flag, ...] = ()
        """What a person should look at in the file."""

    @property
    def left_s(self) -> float:
        """What is left of the candidate's time."""
        return self._clock.limit("job_limit", math.inf)[1]

    def hand_over(self, source: bytes, cases: Sequence[Case]) -> None:
        """Allocate the arena for the largest case; the runner gets it and the file, and waits.

        Raises:
            RunnerFailed: it has ended.

        """
        rooms = [Room.of(Layout.of(self._problem, case)) for case in cases]
        rooms.append(Room.of(LAYOUT))
        host = host_piece_for(rooms)
        device = self._ground.piece(device_bytes_for(rooms))
        self._arena = Arena(host, device)
        job = Job(
            host.size_bytes,
            device.size_bytes,
            len(source),
            self._ground.emulated,
            self._problem.name,
        )
        source_fd = source_memfd(source)
        try:
            self._runner.hand_over(job, (host.fd, device.fd, source_fd))
        finally:
            os.close(source_fd)

    def measure_baseline(self) -> None:
        """Look what the process adds to events, by calls of ours, while no file runs in it yet.

        Raises:
            RunnerFailed, Interrupted: see `worker.baseline`.

        """
        assert self._arena is not None
        turn = Turn(self._runner, Clock(self._limits), CALL_S, self._cancel_fd)
        self.baseline = baseline_of(turn, self._road, self._ground, self._arena)

    def open(self) -> Failure | None:
        """Have the runner import the file."""
        limit, limit_s = self._clock.limit("import_limit", self._limits.import_s)
        with self._clock:
            self._runner.let_import()
            end = self._runner.answer(0, limit_s, self._cancel_fd)
            if isinstance(end, Answered) and end.answer.status is Status.REVIEWED:
                self.review = from_text(end.answer.text)
                end = self._runner.answer(0, limit_s, self._cancel_fd)
        if isinstance(end, Answered) and end.answer.status is Status.IMPORTED:
            return None
        return self._blamed(end, limit)

    def close(self) -> None:
        """Give the arena back."""
        if self._arena is not None:
            self._road.leave(self._arena)
            self._arena.close()

    def call(self, case: Case, distribution: Distribution, seed: int) -> Called:
        """Make one call with operands of its own and compare every element."""
        try:
            return self._call(case, distribution, seed)
        except torch.OutOfMemoryError:
            share_of_others, total_bytes = device_memory()
            if share_of_others < HOG_SHARE:
                raise
            self._runner.destroy()
            took = f"it left no memory of the device's {in_gib(total_bytes)} to judge with"
            return Called(failure=Failure("out_of_memory", "device", took))

    def _call(self, case: Case, distribution: Distribution, seed: int) -> Called:
        assert self._arena is not None
        layout = Layout.of(self._problem, case)
        operands = draw(case, seed, distribution, self._problem)
        image = Image.load(layout, operands, self._ground.device)
        after = Image.blank(layout, self._ground.device)
        place = self._arena.place(layout)
        limits = self._limits
        call_s = limits.emulated_call_s if self._ground.emulated else limits.call_s
        limit, limit_s = self._clock.limit("call_limit", call_s)
        slot = InSlot(image, after, self._arena, place)
        turn = Turn(self._runner, self._clock, limit_s, self._cancel_fd)
        used_s = self._clock.used_s
        end, wall_us = self._road.call(slot, turn)
        took_s = self._clock.used_s - used_s
        if isinstance(end, Failure):
            return Called(failure=end)
        if not (isinstance(end, Answered) and end.answer.status is Status.DONE):
            return Called(failure=self._blamed(end, limit))
        self.count += 1
        outputs = after.slot.outputs
        official = distribution == "official"
        comparison = compare(outputs, image.slot.operands, official=official, problem=self._problem)
        changed = image.modified_input(after)
        if changed is not None:
            failure: Failure | None = Failure("incorrect", "inputs_modified", changed)
        else:
            where = "" if distribution == case.distribution else f" (on {distribution} operands)"
            failure = wrong_values(comparison, outputs, where)
        sample = Sample(end.answer.event_us, wall_us, end.answer.host_us)
        return Called(comparison, None if self._ground.emulated else sample, failure, took_s)

    def _blamed(self, end: End, limit: str) -> Failure:
        compiling, memory_bytes = self.count == 0, self._runner.memory_bytes
        failure = blame(end, compiling=compiling, limit=limit, memory_bytes=memory_bytes)
        if self._ground.emulated and failure.reason in ("call_limit", "job_limit"):
            return replace(failure, message=f"{failure.message}; {SLOW_HERE}")
        return failure


def device_memory() -> tuple[float, int]:
    """Return the share of the device's memory that is in use, but not by us, and all of it."""
    free_bytes, total_bytes = torch.cuda.mem_get_info()
    return 1 - (free_bytes + torch.cuda.memory_reserved()) / total_bytes, total_bytes


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
            written = any((each.view(torch.int16) != POISON).any() for each in outputs)
            message += "; this element was never written" + ("" if written else ", nor was any")
    return Failure("incorrect", "values", message + where)
