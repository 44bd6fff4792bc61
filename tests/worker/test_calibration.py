"""`halfbyte calibrate`: what is said of several calibrations; on a GPU, that they are made."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from tests.worker.gpu_stand_in import CALIBRATION
from worker.calibration import report, suggested_delta_us

RUNS = tuple(
    replace(CALIBRATION, overhead_us=overhead_us, spread_us=spread_us)
    for overhead_us, spread_us in ((170, 5.0), (173, 6.0), (168, 4.0))
)


def calibrate(*options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-P", "-m", "worker.calibration", *options]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=50)


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
    done = calibrate()
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no GPU here" in done.stderr


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_a_gpu_is_measured_in_several_runners() -> None:
    done = calibrate("--runs", "2", "--json")
    found = json.loads(done.stdout)
    assert len(found["runs"]) == 2
    assert all(run["overhead_us"] > 0 < run["empty_us"] for run in found["runs"])
