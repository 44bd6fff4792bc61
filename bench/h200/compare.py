"""Whether comparisons can be trusted on a GPU: the same kernel twice, and one that is slowed.

    python bench/h200/compare.py OUT.json [PAIRS]

Each comparison is one of a job's: two fresh runners in the sandbox, tests, rounds, ratio. First
`portable` on an official benchmark against itself with 5 % of idling behind it; then pairs of a
file with itself, as many as are asked for (20): `portable`, which copies in every call, on small
official tests, in turns with the kernel that `auto` takes on official benchmarks, most of 17 to 30
us. All runners start at once, before anything is timed: with 16 that took an H200 some 20 s, and a
pair 6 to 10 s. What has not begun after 230 s is left out; run it again for more pairs.
"""

import dataclasses
import json
import os
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from bench.h200.honest import ready_runners
from contract.job import Progress
from contract.limits import Limits
from contract.submission import Candidate, Mode, Submission
from kernels.catalog import candidate_source
from kernels.problem import Case
from kernels.problems import NVFP4_GROUP_GEMM
from kernels.turns import in_words
from worker.calls import Calls
from worker.comparing import Comparing, Found, Side, alone
from worker.device import Device, find_device
from worker.environment import describe_machine
from worker.judge import Machine
from worker.runner_process import RunnerProcess
from worker.sandbox.choose import choose
from worker.seeds import random_seed
from worker.settings import WorkerSettings

PORTABLE, AUTO = candidate_source("portable"), candidate_source("auto")
SLOWED = """
import torch
honest = custom_kernel
def custom_kernel(data):
    outputs = honest(data)
    torch.cuda._sleep(%d)
    return outputs
"""
LARGE = NVFP4_GROUP_GEMM.benchmarks[2]
LARGE_US = 123.5
"""Of `portable` on an H200, as `bench/results/h200/compare.json` has it."""
CLOCK_MHZ = 1980
LAUNCH_US = 1.0
"""What one more launch takes on the device besides, about."""
CYCLES = round((0.05 * LARGE_US - LAUNCH_US) * CLOCK_MHZ)
SAME = (
    (PORTABLE, NVFP4_GROUP_GEMM.tests[0]),
    (AUTO, NVFP4_GROUP_GEMM.benchmarks[3]),
    (PORTABLE, NVFP4_GROUP_GEMM.tests[4]),
    (AUTO, NVFP4_GROUP_GEMM.benchmarks[2]),
    (PORTABLE, NVFP4_GROUP_GEMM.tests[9]),
)
STOP_S = 230.0
"""No comparison begins later than so long after the start."""


class Bench:
    """One machine, and comparisons one after the other."""

    def __init__(self, out: Path, pairs: int) -> None:
        self._began_s = time.monotonic()
        self._out = out
        settings = WorkerSettings()
        self._device: Device = find_device(settings)
        sandbox = choose(self._device.sandbox, self._device.environment)
        start = partial(RunnerProcess, sandbox, self._device.environment, Limits())
        calibration = self._device.calibrate(start)
        self._environment = describe_machine(sandbox.description)
        gpu = self._environment.gpu or "cpu"
        self._machine = Machine(gpu, calibration, self._device.meter)
        self._runners = ready_runners(sandbox, self._device, 2 * (pairs + 1))
        self._rows: list[dict[str, object]] = []
        print(f"{gpu}: ready after {self._passed_s():.1f} s", flush=True)

    def compare(self, name: str, files: tuple[bytes, bytes], case: Case) -> Found | None:
        """Compare two files; print and keep what was found."""
        if self._passed_s() > STOP_S:
            print(f"{name}: not begun, {STOP_S:g} s have passed", flush=True)
            return None
        began_s = time.monotonic()
        submission = Submission(
            problem=NVFP4_GROUP_GEMM.name, mode=Mode.COMPARE, cases=(case,), other=Candidate()
        )
        runners = [self._runners.pop() for _ in range(2)]
        road = self._device.road(self._machine.calibration)
        one, other = (
            Side(each, source, Calls(runner, self._device.ground, road, Limits(), os.eventfd(0)))
            for each, source, runner in zip(alone(submission), files, runners, strict=True)
        )
        comparing = Comparing((one, other), random_seed(), self._machine)
        *_, found = (step for step in comparing.compare() if not isinstance(step, Progress))
        for runner in runners:
            runner.close()
        self._keep(name, found, time.monotonic() - began_s)
        return found

    def close(self) -> None:
        """End the runners that are left."""
        for runner in self._runners:
            runner.close()
        print(f"all of it took {self._passed_s():.1f} s", flush=True)

    def _keep(self, name: str, found: Found, took_s: float) -> None:
        said = found.failure.message if found.overall is None else in_words(found.overall)
        print(f"{name}: {said}, {took_s:.1f} s", flush=True)
        timings = [side[0].timing and dataclasses.asdict(side[0].timing) for side in found.cases]
        ratio = found.overall and dataclasses.asdict(found.overall)
        failure = found.failure and dataclasses.asdict(found.failure)
        self._rows.append(
            {"name": name, "ratio": ratio, "failure": failure, "a": timings[0], "b": timings[1]}
            | {"took_s": took_s}
        )
        if found.overall is not None:
            print(f"    {beside(*timings)}", flush=True)
        calibration = self._machine.calibration
        kept = {
            "environment": self._environment.model_dump(mode="json"),
            "calibration": calibration and dataclasses.asdict(calibration),
            "rows": self._rows,
        }
        self._out.write_text(json.dumps(kept))

    def _passed_s(self) -> float:
        return time.monotonic() - self._began_s


def beside(a: Mapping[str, float], b: Mapping[str, float]) -> str:
    """Say how far the sides are apart by their events, and with each process's own correction."""
    events_us = b["event_median_us"] - a["event_median_us"]
    corrected_us = events_us - b["correction_us"] + a["correction_us"]
    return (
        f"{a['event_median_us']:.2f} us; B less A by events {events_us:+.2f}, corrected "
        f"{corrected_us:+.2f} ({a['correction_us']:+.2f} and {b['correction_us']:+.2f} taken off)"
    )


def main() -> None:
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    bench = Bench(Path(sys.argv[1]), pairs)
    decisions: list[str] = []
    try:
        slowed = PORTABLE + (SLOWED % CYCLES).encode()
        bench.compare("large, slowed by 5 %", (PORTABLE, slowed), LARGE)
        for number in range(pairs):
            file, case = SAME[number % len(SAME)]
            found = bench.compare(f"same {number}", (file, file), case)
            if found is not None:
                decisions.append(found.overall.decision if found.overall else "failed")
    finally:
        bench.close()
    print(f"no difference in {decisions.count('no_difference')} of {len(decisions)} pairs")


if __name__ == "__main__":
    main()
