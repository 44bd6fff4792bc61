"""`halfbyte calibrate`: what this machine's GPU adds to a timed call, and how steadily.

    python -m worker.calibration [--runs N] [--json]

It measures as a worker does at its start, several times, each in a runner of its own, and says what
that means for delta. The measuring process is a second one, in the environment of a judge: CUDA has
to be told which GPU it may see before torch is imported.
"""

import argparse
import json
import os
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Final, NoReturn

from kernels.measurement import Calibration
from worker.main import judge_environment
from worker.settings import WorkerSettings

MEANING: Final = (
    "Delta is how far events and the judge's clock may drift apart before a time is billed for it;",
    "three deltas are rejected as a forged clock. Where more is suggested than is in use, honest",
    "files would be billed: set HALFBYTE_WORKER_DELTA_US. Where much less is, a forger gains it.",
    "Measure on a machine that does nothing else.",
)

NO_GPU: Final = 2
UNUSABLE: Final = 3
"""Exit codes, as the command has them."""


def calibrations(settings: WorkerSettings, runs: int) -> Iterator[Calibration]:
    """Yield one calibration after another; none where there is no GPU.

    Raises:
        GpuUnusable: a worker has the GPU, or it cannot be used.
        SandboxUnavailable, RunnerFailed: see `worker.judge_main`.

    """
    from worker.device import find_device  # noqa: PLC0415  (torch)
    from worker.sandbox.choose import choose  # noqa: PLC0415
    from worker.spares import Spares  # noqa: PLC0415

    device = find_device(settings)
    if device.ground.emulated:
        return
    sandbox = choose(device.sandbox, device.environment)
    spares = Spares(sandbox, device.environment, settings.limits, 0)
    for _ in range(runs):
        found = device.calibrate(partial(spares.start, settings.limits))
        if found is not None:
            yield found


def suggested_delta_us(found: Sequence[Calibration]) -> float:
    """Return the delta that would not bill an honest runner on this machine.

    Runners differ from one another by more than calls of one runner do, so it is twice the largest
    distance of a runner's median from the median of all, or half of the widest spread.
    """
    middle_us = statistics.median(each.overhead_us for each in found)
    apart_us = max(abs(each.overhead_us - middle_us) for each in found)
    return max(2 * apart_us, *(each.spread_us / 2 for each in found))


def report(found: Sequence[Calibration]) -> str:
    """Say it in words."""
    last = found[-1]
    figures = (
        ("switching contexts, of it", last.switch_us),
        (f"flushes before a call, each of {last.flush_bytes >> 20} MiB", last.flush_us),
        ("copying operands, a MiB", last.copy_us_per_byte * 2**20),
        ("launching hides behind", last.hidden_us),
        ("an empty kernel, by events", last.empty_us),
        ("delta in use", last.delta_us),
        ("delta suggested", suggested_delta_us(found)),
    )
    return "\n".join(
        (
            "what the judge's clock says of a call beyond its events, one line a runner:",
            *(f"{each.overhead_us:9.1f} us, p10..p90 {each.spread_us:.1f} us" for each in found),
            *(f"{value:9.1f} us  {name}" for name, value in figures),
            "",
            *MEANING,
        )
    )


def measure(settings: WorkerSettings, runs: int, as_json: bool) -> None:
    """Measure, and write what was found to stdout."""
    from worker.gpu_lock import GpuUnusable  # noqa: PLC0415
    from worker.runner_process import RunnerFailed  # noqa: PLC0415
    from worker.sandbox.confinement import SandboxUnavailable  # noqa: PLC0415

    try:
        found = tuple(calibrations(settings, runs))
    except (GpuUnusable, SandboxUnavailable, RunnerFailed) as error:
        _end(UNUSABLE, str(error))
    if not found:
        _end(NO_GPU, "there is no GPU here, so nothing is timed and nothing to calibrate")
    answer = {
        "runs": [asdict(each) for each in found],
        "suggested_delta_us": suggested_delta_us(found),
    }
    sys.stdout.write((json.dumps(answer, indent=2) if as_json else report(found)) + "\n")


def _end(code: int, why: str) -> NoReturn:
    sys.stderr.write(f"halfbyte: {why}\n")
    sys.exit(code)


def main() -> None:
    """Read the settings, and measure in a process that sees the GPU they name and no other."""
    parser = argparse.ArgumentParser(prog="halfbyte calibrate")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--settings", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.settings is not None:
        measure(WorkerSettings.model_validate_json(asked.settings), asked.runs, asked.json)
        return
    settings = WorkerSettings()
    command = [sys.executable, "-I", "-m", "worker.calibration", "--runs", str(asked.runs)]
    command += ["--json"] * asked.json + ["--settings", settings.model_dump_json()]
    os.execve(command[0], command, judge_environment(settings))  # noqa: S606


if __name__ == "__main__":
    main()
