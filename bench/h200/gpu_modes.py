"""Telemetry, a profile inside the sandbox, a calibration and a short ranked run, in a row.

    python bench/h200/gpu_modes.py OUT.json [FILE]

The parts of a judge without its process, its queue and the trial of its sandbox, so that all of it
takes less than a minute. The ranked run has the official tests, the hidden cases and the last of
the official benchmarks. What is known is written after each step.
"""

import json
import os
import sys
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path

from contract.limits import Limits
from contract.submission import Mode, Submission
from kernels.measurement import Calibration
from kernels.problems import NVFP4_GROUP_GEMM
from worker.calls import Calls
from worker.device import Device, find_device
from worker.judge import Judge, Judgement, Machine
from worker.plan import plan_of
from worker.profiling import Order, profile
from worker.runner_process import RunnerProcess
from worker.sandbox.namespaces import build_level_2
from worker.seeds import random_seed
from worker.settings import WorkerSettings
from worker.spares import Spares

OUT = Path(sys.argv[1])
SOURCE = Path(sys.argv[2] if len(sys.argv) > 2 else "examples/my_kernel.py").read_bytes()
LAST = NVFP4_GROUP_GEMM.benchmarks[-1]
LIMITS = Limits()
found: dict[str, object] = {}
began_s = time.monotonic()


def note(name: str, what: object) -> None:
    """Write down what a step found, and when."""
    found[name] = what
    found[f"{name}_at_s"] = round(time.monotonic() - began_s, 1)
    OUT.write_text(json.dumps(found, indent=1, default=str))
    print(f"[{found[f'{name}_at_s']} s] {name}: {str(what)[:1500]}", flush=True)


def profiled(spares: Spares, ncu: Path | None, cancel_fd: int) -> None:
    runner = spares.start_profiler(LIMITS)
    runner.wait_ready(cancel_fd)
    order = Order(NVFP4_GROUP_GEMM.name, (LAST,), SOURCE, random_seed(), ncu)
    seen = profile(order, runner, LIMITS.job_s, cancel_fd)
    runner.close()
    note("profile", seen.profile.model_dump())
    note("profile_text", next(iter(seen.artifacts.values()), b"")[:4000].decode("utf-8", "replace"))
    note("profile_stderr", runner.stderr.text()[-1500:])


def ranked(
    runner: RunnerProcess, device: Device, calibration: Calibration | None, cancel_fd: int
) -> None:
    cases = (*NVFP4_GROUP_GEMM.tests, LAST)
    submission = Submission(problem=NVFP4_GROUP_GEMM.name, mode=Mode.RANKED, cases=cases)
    runner.wait_ready(cancel_fd)
    calls = Calls(runner, device.ground, device.road(calibration), LIMITS, cancel_fd)
    machine = Machine("NVIDIA H200", calibration, device.meter)
    judge = Judge(submission, plan_of(submission, random_seed()), random_seed(), calls, machine)
    for step in judge.judge(SOURCE):
        if isinstance(step, Judgement):
            note("ranked_outcomes", [case.outcome for case in step.cases])
            note("ranked_failure", step.failure)
            note("ranked_hidden", step.hidden)
            timing = step.cases[-1].timing
            note("ranked_timing", None if timing is None else asdict(timing))
    runner.close()


def main() -> None:
    settings = WorkerSettings(spares=0)
    device = find_device(settings)
    note("telemetry", device.meter.read())
    note("ncu", [str(device.ncu), *map(str, device.sandbox.shown)])
    sandbox = build_level_2(device.sandbox)
    spares = Spares(sandbox, device.environment, LIMITS, 0)
    cancel_fd = os.eventfd(0, os.EFD_CLOEXEC)
    profiled(spares, device.ncu, cancel_fd)
    note("proof", device.prove())
    calibration = device.calibrate(partial(spares.start, LIMITS))
    note("calibration", calibration)
    ranked(spares.start(LIMITS), device, calibration, cancel_fd)
    note("proof_after", device.prove())


if __name__ == "__main__":
    main()
