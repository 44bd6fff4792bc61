"""`halfbyte calibrate`: what is said of several calibrations; on a GPU, that they are made."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial

import pytest
import torch

from contract.limits import Limits
from tests.worker.gpu_stand_in import (
    CALIBRATION,
    EMPTY_US,
    OVERHEAD_US,
    PROCESS_US,
    StandInRoad,
    TimedCpuGround,
)
from worker import calibrate
from worker.blame import Failure
from worker.calibration import report, suggested_delta_us
from worker.device import EMULATION_ENVIRONMENT
from worker.ends import Answered, End
from worker.road import InSlot, Turn
from worker.runner_process import RunnerProcess
from worker.sandbox.unconfined import Unconfined

RUNS = tuple(
    replace(CALIBRATION, overhead_us=overhead_us, spread_us=spread_us)
    for overhead_us, spread_us in ((170, 5.0), (173, 6.0), (168, 4.0))
)


def measured(*options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-P", "-m", "worker.calibration", *options]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=50)


class UnlikeRoad(StandInRoad):
    """Every process adds something else to its events: 0, 2 and 0.5 us, in this order."""

    def __init__(self) -> None:
        self._adds_us: dict[RunnerProcess, float] = {}

    def call(self, slot: InSlot, turn: Turn) -> tuple[End | Failure, float]:
        end, wall_us = super().call(slot, turn)
        if turn.runner not in self._adds_us:
            self._adds_us[turn.runner] = (0, 2, 0.5)[len(self._adds_us)]
        adds_us = self._adds_us[turn.runner]
        event_us = end.answer.event_us + adds_us
        return Answered(replace(end.answer, event_us=event_us)), wall_us + adds_us


def test_an_empty_kernel_takes_what_it_takes_in_the_middle_one_of_three_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calibrate, "staging_cost", lambda ground: (480.0, 1e-6))
    monkeypatch.setattr(calibrate, "TimedRoad", lambda *_: UnlikeRoad())
    monkeypatch.setattr(calibrate, "CASES", calibrate.CASES[:1])
    ground = TimedCpuGround()
    ground.flush_bytes = 256 << 20
    limits, never = Limits(), os.eventfd(0, os.EFD_CLOEXEC)
    start = partial(RunnerProcess, Unconfined(), EMULATION_ENVIRONMENT, limits)
    found = calibrate.calibrate(ground, start, limits, never)
    os.close(never)
    assert found.empty_us == EMPTY_US + PROCESS_US + 0.5
    assert found.overhead_us == pytest.approx(OVERHEAD_US)
    assert found.samples == calibrate.CALLS


def test_delta_covers_how_far_runners_lie_apart() -> None:
    assert suggested_delta_us(RUNS) == 6
    noisy = (*RUNS, replace(CALIBRATION, spread_us=40.0))
    assert suggested_delta_us(noisy) == 20
    assert suggested_delta_us(RUNS[:1]) == 2.5


def test_the_report_has_a_line_a_runner_and_says_what_delta_means() -> None:
    lines = report(RUNS).splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["170.0", "173.0", "168.0"]
    assert "      2.8 us  an empty kernel, by events" in lines
    assert "      8.0 us  delta in use" in lines
    assert "      6.0 us  delta suggested" in lines
    assert "HALFBYTE_WORKER_DELTA_US" in lines[-2]
    assert "256 MiB" in report(RUNS)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_there_is_nothing_to_calibrate() -> None:
    done = measured()
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no GPU here" in done.stderr


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_a_gpu_is_measured_in_several_runners() -> None:
    done = measured("--runs", "2", "--json")
    found = json.loads(done.stdout)
    assert len(found["runs"]) == 2
    assert all(run["overhead_us"] > 0 < run["empty_us"] for run in found["runs"])
