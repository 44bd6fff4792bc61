"""What a process adds to every event, measured before it imports a file.

Two processes of one file have times that are apart for as long as they live, and an empty kernel's
are apart by nearly as much. So each runner calls an empty kernel of ours on the road of all timed
calls, with the events and behind the launch that candidates get. Only code of ours has run in it by
then, so nobody can gain by what it says; and the figure stays in the judge.
"""

from typing import Final

from kernels.layout import Layout
from kernels.operands import draw
from kernels.problem import Case
from kernels.problems import NVFP4_GROUP_GEMM
from worker.arena import Arena
from worker.ends import Answered
from worker.ground import Ground, Image
from worker.protocol import Status
from worker.road import InSlot, Road, Turn
from worker.runner_process import RunnerFailed
from worker.sampling import Baseline
from worker.seeds import random_seed

CASE: Final = Case(m=(128,), n=(256,), k=(16,))
"""Its operands lie in the arena, and nobody computes with them."""
LAYOUT: Final = Layout.of(NVFP4_GROUP_GEMM, CASE)
WARM_UP: Final = 2
CALL_S: Final = 5.0


def baseline_of(turn: Turn, road: Road, ground: Ground, arena: Arena) -> Baseline | None:
    """Have an empty kernel called; None where the road times nothing.

    Raises:
        RunnerFailed: it was not called, or the device was in use. Our fault: no file is there yet.
        Interrupted: cancelled meanwhile.

    """
    if not road.baseline_calls:
        return None
    image = Image.load(LAYOUT, draw(CASE, random_seed()), ground.device)
    after = Image.blank(LAYOUT, ground.device)
    events = []
    for _ in range(road.baseline_calls):
        slot = InSlot(image, after, arena, arena.place(LAYOUT))
        end, _ = road.call(slot, turn)
        if not (isinstance(end, Answered) and end.answer.status is Status.DONE):
            words = turn.runner.stderr.text()[-2000:]
            raise RunnerFailed(f"an empty kernel was not called: {end} {words}")
        events.append(end.answer.event_us)
    return Baseline.of(events[WARM_UP:])
