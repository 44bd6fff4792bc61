"""A call on a GPU, under the judge's clock."""

from typing import Final

from worker.blame import Failure
from worker.control import ControlPage
from worker.gpu import GpuGround
from worker.ground import get_host, put_host
from worker.protocol import Status
from worker.road import InSlot
from worker.runner_process import ANSWER_S, Answered, Broke, End, RunnerProcess
from worker.sampling import Calibration

WAKE_S: Final = 5.0


class TimedRoad:
    """On a GPU: the clock runs from the cover to the moment when the device is ours again."""

    def __init__(self, ground: GpuGround, calibration: Calibration | None) -> None:
        """Without a calibration nothing is held against anybody: that is how one is made."""
        self._ground = ground
        self._calibration = calibration

    def call(
        self, runner: RunnerProcess, slot: InSlot, limit_s: float, cancel_fd: int
    ) -> tuple[End | Failure, float]:
        """Wake the runner, take the device back, fill and cover, release, and copy away."""
        control = ControlPage(slot.arena.host.mapping)
        token = runner.prepare(slot.place, slot.groups)
        put_host(slot.image, slot.arena, slot.place)
        self._ground.warm()
        if not runner.wake(token, control, WAKE_S, cancel_fd):
            return undone(runner, token, WAKE_S, cancel_fd), 0.0
        if not self._ground.take_back() and self._calibration is not None:
            return resident("it was not idle before a call"), 0.0
        started_ns = self._ground.cover(slot.image, slot.arena, slot.place)
        if runner.release(token, control, limit_s, cancel_fd) is None:
            return undone(runner, token, limit_s, cancel_fd), 0.0
        regained_ns = self._ground.snapshot(slot.after, slot.arena, slot.place)
        get_host(slot.after, slot.arena, slot.place)
        end = runner.answer(token, ANSWER_S, cancel_fd)
        covered_us = self._ground.covered_us()
        if self._calibration is not None:
            expected_us = self._calibration.cover_us(len(slot.image.device))
            if covered_us > 1.25 * expected_us + 100:
                found = f"{covered_us:.0f} us, {expected_us:.0f} are explained"
                return resident(f"copy and flush before a call took {found}"), 0.0
            covered_us = min(covered_us, 1.05 * expected_us + 5)
        return end, (regained_ns - started_ns) / 1e3 - covered_us


def undone(runner: RunnerProcess, token: int, limit_s: float, cancel_fd: int) -> End:
    """Return the end of a runner that was not done: it may not say that it was."""
    end = runner.answer_or_overrun(token, limit_s, cancel_fd)
    if isinstance(end, Answered) and end.answer.status is Status.DONE:
        runner.destroy()
        return Broke("an answer to a call that was not made")
    return end


def resident(how: str) -> Failure:
    """Return the failure of somebody who used the device outside of a call."""
    return Failure("rejected", "resident_kernel", f"the device was in use outside of a call: {how}")
