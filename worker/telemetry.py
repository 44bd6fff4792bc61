"""What a GPU says of itself between calls: clocks, temperature, power, what holds it down.

NVML, through nvidia-ml-py. Nothing depends on it but a flag: where the library or the driver is
silent, so are we.
"""

import logging
import statistics
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, Protocol

from kernels.measurement import Range, Telemetry

THROTTLE_REASONS: Final = (
    (0x04, "sw_power_cap"),
    (0x08, "hw_slowdown"),
    (0x10, "sync_boost"),
    (0x20, "sw_thermal_slowdown"),
    (0x40, "hw_thermal_slowdown"),
    (0x80, "hw_power_brake"),
)
"""Bits of nvmlClocksEventReasons. Left out: an idle device, and clocks that somebody has set."""

log = logging.getLogger("halfbyte.judge")


class Reading(NamedTuple):
    """One look."""

    sm_clock_mhz: float
    memory_clock_mhz: float
    temperature_c: float
    power_w: float
    reasons: int


class Meter(Protocol):
    """Where readings come from."""

    def read(self) -> Reading | None:
        """Look once; None where nothing can be seen."""


class NoMeter:
    """Sees nothing."""

    def read(self) -> Reading | None:
        """Nothing."""
        return None


class NvmlMeter:
    """One GPU, asked through NVML."""

    def __init__(self, nvml: Any, uuid: str) -> None:  # noqa: ANN401  (a module)
        """Find the GPU; `nvml` is the module pynvml.

        Raises:
            nvml.NVMLError: there is no driver, or no such GPU.

        """
        self._nvml = nvml
        nvml.nvmlInit()
        self._gpu = nvml.nvmlDeviceGetHandleByUUID(uuid)

    def read(self) -> Reading | None:
        """Ask for all figures, in some tenths of a millisecond."""
        nvml, gpu = self._nvml, self._gpu
        try:
            return Reading(
                nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM),
                nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_MEM),
                nvml.nvmlDeviceGetTemperature(gpu, nvml.NVML_TEMPERATURE_GPU),
                nvml.nvmlDeviceGetPowerUsage(gpu) / 1e3,
                nvml.nvmlDeviceGetCurrentClocksEventReasons(gpu),
            )
        except nvml.NVMLError as error:
            log.warning("no telemetry: %s", error)
            return None


def find_meter(uuid: str) -> Meter:
    """Return the meter of a GPU, one that sees nothing where NVML does not answer."""
    try:
        import pynvml  # noqa: PLC0415  (only where there is a GPU)
    except ImportError:
        log.warning("no telemetry: nvidia-ml-py is not installed")
        return NoMeter()
    try:
        return NvmlMeter(pynvml, uuid)
    except pynvml.NVMLError as error:
        log.warning("no telemetry: %s", error)
        return NoMeter()


def telemetry_of(looks: Iterable[Reading | None]) -> Telemetry | None:
    """Sum up what was seen around the samples of a case; None where nothing was."""
    readings = [reading for reading in looks if reading is not None]
    if not readings:
        return None
    reasons = 0
    for reading in readings:
        reasons |= reading.reasons
    return Telemetry(
        readings=len(readings),
        sm_clock_mhz=_range([reading.sm_clock_mhz for reading in readings]),
        memory_clock_mhz=_range([reading.memory_clock_mhz for reading in readings]),
        temperature_c=_range([reading.temperature_c for reading in readings]),
        power_w=_range([reading.power_w for reading in readings]),
        throttle_reasons=tuple(name for bit, name in THROTTLE_REASONS if reasons & bit),
    )


def _range(values: Sequence[float]) -> Range:
    return Range(min(values), statistics.median(values), max(values))
