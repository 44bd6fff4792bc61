"""What a GPU says of itself, asked of a stand-in for NVML, and kept beside the times."""

from pathlib import Path

import pytest
import torch

from contract.submission import Mode
from contract.verdict import Passed, Verdict
from kernels.measurement import Range
from tests.worker.conftest import RECALIBRATE_JOBS
from tests.worker.gpu_stand_in import CALIBRATION, PROBLEM
from tests.worker.judge_harness import JudgeHarness
from worker.telemetry import NoMeter, NvmlMeter, Reading, find_meter, telemetry_of

HONEST = Path("tests/candidates/honest_torch.py").read_bytes()


class Nvml:
    """The functions of pynvml that are used, for one GPU."""

    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0

    class NVMLError(Exception):
        pass

    def __init__(self) -> None:
        self.reasons = 0x1  # idle
        self.lost = False

    def nvmlInit(self) -> None:
        pass

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        if uuid != "GPU-1":
            raise self.NVMLError("Not Found")
        return uuid

    def nvmlDeviceGetClockInfo(self, gpu: str, kind: int) -> int:
        if self.lost:
            raise self.NVMLError("GPU is lost")
        return {1: 1980, 2: 3201}[kind]

    def nvmlDeviceGetTemperature(self, gpu: str, sensor: int) -> int:
        return 47

    def nvmlDeviceGetPowerUsage(self, gpu: str) -> int:
        return 412_500

    def nvmlDeviceGetCurrentClocksEventReasons(self, gpu: str) -> int:
        return self.reasons


def test_figures_come_in_megahertz_degrees_and_watts() -> None:
    assert NvmlMeter(Nvml(), "GPU-1").read() == Reading(1980, 3201, 47, 412.5, 0x1)


def test_the_stand_in_has_the_names_of_the_library() -> None:
    pynvml = pytest.importorskip("pynvml")
    names = [name for name in vars(Nvml) if name.lower().startswith("nvml")]
    assert [name for name in names if not hasattr(pynvml, name)] == []


def test_a_gpu_that_is_lost_says_nothing_and_stops_nobody() -> None:
    nvml = Nvml()
    meter = NvmlMeter(nvml, "GPU-1")
    nvml.lost = True
    assert meter.read() is None
    with pytest.raises(Nvml.NVMLError):
        NvmlMeter(nvml, "GPU-2")


def test_a_machine_without_a_driver_has_no_telemetry() -> None:
    assert isinstance(find_meter("GPU-1"), NoMeter)
    assert telemetry_of([NoMeter().read(), None]) is None


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_a_gpu_says_how_it_is() -> None:
    reading = find_meter(f"GPU-{torch.cuda.get_device_properties(0).uuid}").read()
    assert reading is not None
    assert 100 < reading.sm_clock_mhz < 5000
    assert 10 < reading.temperature_c < 110
    assert 10 < reading.power_w < 1500


def test_readings_are_summed_up_with_every_reason_that_was_active_once() -> None:
    cool = Reading(1980, 3201, 40, 300, 0x1)
    hot = Reading(1200, 3201, 85, 690, 0x1 | 0x4)
    hotter = Reading(1100, 3201, 88, 700, 0x20)
    found = telemetry_of([cool, None, hot, hotter])
    assert found is not None
    assert found.readings == 3
    assert found.sm_clock_mhz == Range(1100, 1200, 1980)
    assert found.power_w == Range(300, 690, 700)
    assert found.throttle_reasons == ("sw_power_cap", "sw_thermal_slowdown")


def test_idle_clocks_and_clocks_that_somebody_has_set_are_no_throttling() -> None:
    found = telemetry_of([Reading(1500, 3201, 40, 300, 0x1 | 0x2 | 0x100)])
    assert found is not None
    assert found.throttle_reasons == ()


def timed(judge: JudgeHarness) -> Verdict:
    return judge.judge(HONEST, PROBLEM.benchmarks[:1], mode=Mode.BENCHMARK)


def test_a_time_carries_what_the_gpu_said_around_its_samples(gpu_judge: JudgeHarness) -> None:
    verdict = timed(gpu_judge)
    assert isinstance(verdict, Passed)
    timing = verdict.cases[0].timing
    assert timing.telemetry.readings == timing.samples + 1
    assert timing.telemetry.temperature_c.least < timing.telemetry.temperature_c.most
    assert not timing.unstable


def test_every_verdict_carries_the_calibration_and_some_jobs_later_another(
    gpu_judge: JudgeHarness,
) -> None:
    first = timed(gpu_judge).calibration
    assert (first.overhead_us, first.flush_bytes) == (
        CALIBRATION.overhead_us,
        CALIBRATION.flush_bytes,
    )
    later = [timed(gpu_judge).calibration.samples for _ in range(RECALIBRATE_JOBS)]
    assert later[-1] == first.samples + 1


def test_nothing_is_calibrated_where_nothing_is_timed(judge: JudgeHarness) -> None:
    verdict = judge.judge(HONEST, PROBLEM.benchmarks[:1], mode=Mode.BENCHMARK)
    assert verdict.calibration is None
    assert verdict.cases[0].timing is None
