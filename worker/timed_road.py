"""A call on a GPU, under the judge's clock."""

from functools import partial
from typing import Final

from kernels.measurement import Calibration
from worker.arena import CONTROL_BYTES, Arena
from worker.blame import Failure
from worker.control import FINISHED_BYTE, ControlPage
from worker.cuda_memory import hide_from_device, show_to_device
from worker.ends import Answered, Broke, End
from worker.gpu import GpuGround, Spans
from worker.ground import get_host, put_host
from worker.protocol import Status
from worker.road import InSlot, Turn
from worker.runner_process import ANSWER_S

WAKE_S: Final = 5.0
BASELINE_CALLS: Final = 12
"""Of nothing, before a file is imported: some 15 ms each."""


class TimedRoad:
    """On a GPU: the clock runs from the end of the cover until the device is ours again.

    It is the device's own clock, read by events of the judge; nothing that hosts do between is in
    it but what the runner needs to see that its work has ended, and to say so.
    """

    baseline_calls = BASELINE_CALLS

    def __init__(self, ground: GpuGround, calibration: Calibration | None) -> None:
        """Without a calibration nothing is held against anybody: that is how one is made."""
        self._ground = ground
        self._calibration = calibration
        self._shown: dict[Arena, int] = {}
        """Where the device sees the control page of an arena."""

    def call(self, slot: InSlot, turn: Turn) -> tuple[End | Failure, float]:
        """Make a call from a core of our own."""
        if slot.arena not in self._shown:
            page = slot.arena.host.tensor.data_ptr()
            self._shown[slot.arena] = show_to_device(page, CONTROL_BYTES)
        with self._ground.own_core:
            return self._call(slot, turn, self._shown[slot.arena] + FINISHED_BYTE)

    def leave(self, arena: Arena) -> None:
        """Take the control page out of the device's sight."""
        if self._shown.pop(arena, None) is not None:
            hide_from_device(arena.host.tensor.data_ptr())

    def _call(self, slot: InSlot, turn: Turn, word: int) -> tuple[End | Failure, float]:
        """Wake the runner, take the device back, fill and cover, release, and copy away."""
        runner = turn.runner
        control = ControlPage(slot.arena.host.mapping)
        token = runner.prepare(slot.place, slot.groups)
        self._ground.warm()
        with turn.clock:
            awake = runner.wake(token, control, WAKE_S, turn.cancel_fd)
        if not awake:
            return undone(turn, token, WAKE_S), 0.0
        if not self._ground.take_back() and self._calibration is not None:
            return resident("it was not idle before a call"), 0.0
        put_host(slot.image, slot.arena, slot.place)
        self._ground.cover(slot, word, token)
        try:
            with turn.clock:
                finished = runner.release(token, control, turn.limit_s, turn.cancel_fd)
            if finished is None:
                return undone(turn, token, turn.limit_s), 0.0
        finally:
            regained = self._ground.regain(partial(control.finish, token), runner.destroy)
        if not regained:
            return Broke("it took back that it was done"), 0.0
        get_host(slot.after, slot.arena, slot.place)
        end = runner.answer(token, ANSWER_S, turn.cancel_fd)
        return self._judged(end, self._ground.spans(), len(slot.image.device))

    def _judged(self, end: End, spans: Spans, size_bytes: int) -> tuple[End | Failure, float]:
        """Return the end and the time; what others did on the device during the cover counts."""
        if self._calibration is None:
            return end, spans.away_us
        expected_us = self._calibration.cover_us(size_bytes)
        if spans.covered_us > 1.25 * expected_us + 100:
            found = f"{spans.covered_us:.0f} us, {expected_us:.0f} are explained"
            return resident(f"copy and flush before a call took {found}"), 0.0
        return end, spans.away_us + max(0.0, spans.covered_us - 1.05 * expected_us - 5)


def undone(turn: Turn, token: int, limit_s: float) -> End:
    """Return the end of a runner that was not done: it may not say that it was."""
    end = turn.runner.answer_or_overrun(token, limit_s, turn.cancel_fd)
    if isinstance(end, Answered) and end.answer.status is Status.DONE:
        turn.runner.destroy()
        return Broke("an answer to a call that was not made")
    return end


def resident(how: str) -> Failure:
    """Return the failure of somebody who used the device outside of a call."""
    return Failure("rejected", "resident_kernel", f"the device was in use outside of a call: {how}")
