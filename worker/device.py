"""The device of a worker: a GPU where there is one, else the CPU in its place."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol

import torch

from kernels.measurement import Calibration
from worker.gpu_lock import GpuUnusable, lock_folder, lock_gpu
from worker.ground import CpuGround, Ground
from worker.ncu import find_ncu, folders_of
from worker.road import PlainRoad, Road
from worker.runner_process import RunnerProcess
from worker.sampling import delta_of
from worker.sandbox.confinement import SandboxSettings
from worker.settings import NO_GPU, WorkerSettings
from worker.slices import cut_up, refuse_slice
from worker.telemetry import Meter, NoMeter, find_meter

BASIC_ENVIRONMENT: Final = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
EMULATION_ENVIRONMENT: Final = {
    **BASIC_ENVIRONMENT,
    "TRITON_INTERPRET": "1",
    "TRITON_DEFAULT_FP_FUSION": "1",
    # Threads of BLAS that wait for one another cost more than they bring at an interpreter's sizes.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}

COMPILER_ENVIRONMENT: Final = {
    **{name: value for name, value in EMULATION_ENVIRONMENT.items() if name != "TRITON_INTERPRET"},
    "CUDA_VISIBLE_DEVICES": "",
}
"""Compiling is the same everywhere: a GPU that is here is not looked at."""

IDLE_S: Final = 5.0
"""How long a device may be busy after a job before it is said to be in use."""
NVIDIA: Final = Path("/proc/driver/nvidia/gpus")


class Device(Protocol):
    """Where calls run, what runners need there, and what has to be measured and proven."""

    @property
    def ground(self) -> Ground:
        """Where operands lie."""

    @property
    def environment(self) -> Mapping[str, str]:
        """All that a runner's environment holds."""

    @property
    def sandbox(self) -> SandboxSettings:
        """The operator's settings, with the device nodes that runners may open."""

    @property
    def meter(self) -> Meter:
        """What the device says of itself."""

    @property
    def ncu(self) -> Path | None:
        """Where Nsight Compute is; None where it is not."""

    def calibrate(self, start: Callable[[], RunnerProcess]) -> Calibration | None:
        """Measure what the machine adds to a call; None where nothing is timed."""

    def road(self, calibration: Calibration | None) -> Road:
        """Return how calls are made."""

    def prove(self) -> str | None:
        """Return what is wrong with the device after a job, None where nothing is."""


class EmulatedDevice:
    """The CPU: correctness only."""

    environment = EMULATION_ENVIRONMENT
    meter = NoMeter()
    ncu = None

    def __init__(self, settings: WorkerSettings) -> None:
        """Take the sandbox as it is."""
        self.ground = CpuGround()
        self.sandbox = settings.sandbox

    def calibrate(self, start: Callable[[], RunnerProcess]) -> Calibration | None:
        """Nothing is timed."""
        return None

    def road(self, calibration: Calibration | None) -> Road:
        """Without a clock."""
        return PlainRoad()

    def prove(self) -> str | None:
        """A CPU needs no proof."""
        return None


class Gpu:
    """The first GPU that this process sees."""

    def __init__(self, settings: WorkerSettings) -> None:
        """Lock the GPU, make the context and remember how much memory is in use.

        Raises:
            GpuUnusable: another worker has it, or it is a slice of one.

        """
        from worker.gpu import (  # noqa: PLC0415  (a driver)
            JUDGE_BYTES,
            SPARE_BYTES,
            GpuGround,
            memory_in_use,
        )

        self._settings = settings
        refuse_slice(torch.cuda.get_device_name(0))
        uuid = f"GPU-{torch.cuda.get_device_properties(0).uuid}"
        holder = f"worker {settings.name}".rstrip() + f", process {os.getppid()}"
        self._lock_fd = lock_gpu(uuid, lock_folder(settings.sandbox), holder)
        self.ground = GpuGround()
        self.meter = find_meter(uuid)
        self.environment = {**BASIC_ENVIRONMENT, "CUDA_VISIBLE_DEVICES": uuid}
        if settings.library_path:
            self.environment["LD_LIBRARY_PATH"] = settings.library_path
        self.ncu = find_ncu(settings.ncu)
        shown = (*settings.sandbox.shown, *(folders_of(self.ncu) if self.ncu else ()))
        self.sandbox = replace(settings.sandbox, gpu_minors=tuple(_minors(uuid)), shown=shown)
        self._allowed_bytes = memory_in_use() + JUDGE_BYTES + settings.spares * SPARE_BYTES

    def calibrate(self, start: Callable[[], RunnerProcess]) -> Calibration | None:
        """Measure overhead and staging."""
        from worker.calibrate import calibrate  # noqa: PLC0415

        never = os.eventfd(0, os.EFD_CLOEXEC)
        try:
            found = calibrate(self.ground, start, self._settings.limits, never)
            return replace(found, delta_us=delta_of(found.spread_us, self._settings.delta_us))
        finally:
            os.close(never)

    def road(self, calibration: Calibration | None) -> Road:
        """Under the clock."""
        from worker.timed_road import TimedRoad  # noqa: PLC0415

        return TimedRoad(self.ground, calibration)

    def prove(self) -> str | None:
        """Compute something, look at the memory, and find nobody else at work."""
        from worker.gpu import GpuUnhealthy, prove  # noqa: PLC0415

        try:
            prove(self._allowed_bytes)
        except GpuUnhealthy as error:
            return str(error)
        deadline_s = time.monotonic() + IDLE_S
        self.ground.warm()  # an idle device is too slow for the limits of a touch
        while not self.ground.take_back():  # a spare that comes up is at work for a moment
            self.ground.warm()
            if time.monotonic() > deadline_s:
                return f"the device was in use for {IDLE_S:g} s, while no job ran"
        return None


def find_device(settings: WorkerSettings) -> Device:
    """Return the GPU where there is one. Where one is named, no CPU takes its place.

    Raises:
        GpuUnusable: it is taken, cut up, broken, or nothing that CUDA finds.

    """
    named = settings.gpu
    if named in ("", NO_GPU) and not torch.cuda.is_available():
        return EmulatedDevice(settings)
    refuse_slice(named)
    try:
        torch.cuda.init()  # type: ignore[no-untyped-call]
        return Gpu(settings)
    except (RuntimeError, AssertionError, ImportError) as error:
        words = cut_up(named) or str(error).partition("\n")[0]
        raise GpuUnusable(f"GPU {named or 0} cannot be used: {words}") from error


def _minors(uuid: str) -> Iterator[int]:
    """Yield the number of the device file of a GPU."""
    for file in NVIDIA.glob("*/information"):
        facts = dict(line.partition(":")[::2] for line in file.read_text().splitlines())
        if facts.get("GPU UUID", "").strip() == uuid:
            yield int(facts["Device Minor"])
