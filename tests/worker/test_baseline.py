"""What a process adds to events: measured before the file is there, taken off its times."""

import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from contract.limits import Limits
from contract.submission import Mode
from contract.verdict import VERDICT, Passed, Verdict
from tests.worker.gpu_stand_in import CLAIM_US, EMPTY_US, EVENT_US, PROBLEM, PROCESS_US
from tests.worker.judge_harness import JudgeHarness
from worker.baseline import WARM_UP
from worker.blame import Failure
from worker.calls import Calls
from worker.ends import Answered, Died, End, Overran
from worker.ground import CpuGround
from worker.protocol import Answer, Status
from worker.road import InSlot, PlainRoad, Turn
from worker.runner_process import RunnerFailed
from worker.sampling import Baseline

HONEST = Path("tests/candidates/honest_torch.py").read_bytes()
FORGES = (
    HONEST
    + b"""
import __main__, time
__main__.empty = __main__.Stopwatch = None
time.perf_counter = time.perf_counter_ns = lambda: 0
torch.cuda.Event.elapsed_time = lambda *_: 1000.0
"""
)


def timed(judge: JudgeHarness, source: bytes = HONEST, mode: Mode = Mode.BENCHMARK) -> Verdict:
    return judge.judge(source, PROBLEM.benchmarks[:1], mode=mode)


def test_what_the_process_adds_is_taken_off_and_told(gpu_judge: JudgeHarness) -> None:
    verdict = timed(gpu_judge)
    assert isinstance(verdict, Passed)
    said = json.loads(VERDICT.dump_json(verdict))
    timing = said["cases"][0]["timing"]
    assert timing["event_median_us"] == EVENT_US[1] + PROCESS_US
    assert timing["correction_us"] == PROCESS_US
    assert timing["median_us"] == timing["p10_us"] == EVENT_US[1]
    assert set(timing["samples_us"]) == {EVENT_US[1]}
    assert timing["wall_median_us"] - timing["overhead_us"] == timing["event_median_us"]
    assert said["calibration"]["empty_us"] == EMPTY_US
    assert not timing["unstable"]


def test_no_file_can_change_what_was_measured_before_its_import(gpu_judge: JudgeHarness) -> None:
    timing = timed(gpu_judge, FORGES).cases[0].timing
    assert timing.event_median_us == CLAIM_US, "the file has its way with its own events"
    assert timing.correction_us == PROCESS_US


def test_what_is_not_timed_is_not_measured(gpu_judge: JudgeHarness, judge: JudgeHarness) -> None:
    """Neither in mode `test`, nor where there is no GPU."""
    quick = timed(gpu_judge, mode=Mode.TEST)
    assert isinstance(quick, Passed)
    assert quick.cases[0].timing is None
    emulated = timed(judge)
    assert isinstance(emulated, Passed)
    assert emulated.calibration is None


@dataclass
class Ends(PlainRoad):
    """A road whose calls end as they are told to, after an hour each."""

    ends: list[End | Failure]

    @property
    def baseline_calls(self) -> int:
        return len(self.ends)

    def call(self, slot: InSlot, turn: Turn) -> tuple[End | Failure, float]:
        turn.clock.used_s += 3600
        return self.ends.pop(0), 0.0


def calls_on(road: PlainRoad) -> Calls:
    """Return calls of a runner that has its file and did not import it."""
    words = SimpleNamespace(text=lambda: "what it printed")
    runner = SimpleNamespace(hand_over=lambda *_: None, stderr=words)
    calls = Calls(runner, CpuGround(), road, Limits(job_s=60), cancel_fd=-1)
    calls.hand_over(HONEST, PROBLEM.benchmarks)
    return calls


def took(*events: float) -> list[End | Failure]:
    return [Answered(Answer(1, Status.DONE, event_us=event_us)) for event_us in events]


def test_first_calls_are_left_out_and_none_is_billed_to_the_file() -> None:
    calls = calls_on(Ends(took(*[400.0] * WARM_UP, 2.75, 3.0, 2.5)))
    calls.measure_baseline()
    assert calls.baseline == Baseline.of([2.75, 3.0, 2.5])
    assert calls.baseline.median_us == 2.75
    assert calls.left_s == 60
    calls.close()


@pytest.mark.parametrize(
    "end",
    [
        Failure("rejected", "resident_kernel", "the device was in use"),
        Died(-9, out_of_memory=True),
        Overran(5),
        Answered(Answer(1, Status.RAISED, text="RuntimeError: no kernel image")),
    ],
)
def test_a_call_of_ours_that_fails_is_no_verdict(end: End | Failure) -> None:
    calls = calls_on(Ends([*took(2.75), end, *took(2.75)]))
    with pytest.raises(RunnerFailed, match=r"an empty kernel was not called: .*what it printed"):
        calls.measure_baseline()
    calls.close()


def test_a_road_without_a_clock_calls_nothing() -> None:
    calls = calls_on(PlainRoad())
    calls.measure_baseline()
    assert calls.baseline is None
    calls.close()
