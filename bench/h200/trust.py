"""Whether the judge's times can be trusted: other kernels, repeats, bad neighbours, a forger.

    python bench/h200/trust.py OUT.json SECONDS

The judge runs in this process, everything else as in life: sandboxed runners, one a job, an arena,
a calibration. `bench/h200/do_bench.py` times the same kernels by an independent tool. Runners are
all started beforehand, since this is about times and not about imports. Cheats come last, as many
as there is time for.
"""

import dataclasses
import json
import os
import statistics
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.h200.honest import CASES, SOURCES, ready_runners
from contract.limits import Limits
from contract.submission import Mode, Submission
from kernels.measurement import Calibration, Timing
from kernels.problems import NVFP4_GROUP_GEMM
from tests.worker.test_candidates import expectations
from worker.calls import Calls
from worker.device import Gpu
from worker.environment import describe_machine
from worker.judge import Judge, Judgement, Machine
from worker.plan import plan_of
from worker.runner_process import RunnerProcess
from worker.sampling import timing_of
from worker.sandbox.choose import choose
from worker.seeds import random_seed
from worker.settings import WorkerSettings

CANDIDATES = Path("tests/candidates")
HOG = b"""
import os, time
import torch
def custom_kernel(data):
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
    free, _ = torch.cuda.mem_get_info()
    kept = torch.empty(int(free * 0.95), dtype=torch.uint8, device="cuda")
    hoard = []
    while True:
        hoard.append(bytearray(64 << 20))
"""
PORTABLE = ("one_group", "two_groups", "four_groups", "official_4", "official_3")
REPEATED = ("official_4", "two_groups")
OTHERS = ("nothing", "zero", "matmul", "pinned", "own_streams", "early")
REPEATS = 10
CHEATS = (
    "gpu_cheat_takes_done_back",
    "gpu_cheat_says_done_early",
    "gpu_cheat_skips_synchronize",
    "gpu_cheat_side_stream",
    "gpu_cheat_patches_clock",
    "gpu_honest_own_streams",
    "gpu_cheat_persists_in_l2",
    "gpu_cheat_starts_early",
    "gpu_cheat_computes_when_woken",
    "gpu_harm_resident_kernel",
    "gpu_harm_takes_all_memory",
    "gpu_cheat_keeps_its_context_hot",
)
SHORT = Limits(call_s=3, memory_bytes=4 << 30)
SAMPLES, WARM_UP = 24, 4


class Bench:
    """Ready runners, a calibrated device, and what was found so far, written as it comes."""

    def __init__(self, out: Path, runners: int, seconds: float) -> None:
        self._out = out
        self.deadline_s = time.monotonic() + seconds
        self.found: dict[str, object] = {}
        self.device = Gpu(WorkerSettings())
        self._sandbox = sandbox = choose(self.device.sandbox, self.device.environment)
        environment = describe_machine(sandbox.description)
        self.name = environment.gpu
        self.keep("environment", environment.model_dump())
        began = time.monotonic()
        self._runners = deque(ready_runners(sandbox, self.device, runners))
        self._hog = deque(ready_runners(sandbox, self.device, 1, SHORT))
        print(f"{runners} runners after {time.monotonic() - began:.1f} s", flush=True)
        self.calibration: Calibration | None = None

    def keep(self, name: str, value: object) -> None:
        self.found[name] = value
        self._out.write_text(json.dumps(self.found))

    def more(self, runners: int) -> None:
        """Have more runners ready."""
        self._runners += ready_runners(self._sandbox, self.device, runners)

    def calibrate(self) -> Calibration:
        # One that has not been waited for: a runner says only once that it is ready.
        found = self.device.calibrate(
            lambda: RunnerProcess(self._sandbox, self.device.environment, Limits())
        )
        assert found is not None
        return found

    @contextmanager
    def _calls(self, limits: Limits, runner: RunnerProcess) -> Iterator[Calls]:
        road = self.device.road(self.calibration)
        try:
            yield Calls(runner, self.device.ground, road, limits, os.eventfd(0))
        finally:
            runner.close()

    def judge(
        self, name: str, sizes: tuple[str, ...], source: bytes, limits: Limits, mode: Mode
    ) -> Judgement:
        """Have a job judged, and keep what was found."""
        began = time.monotonic()
        runner = (self._hog if name == "hog" else self._runners).popleft()
        submission = Submission(
            problem="nvfp4_group_gemm",
            mode=mode,
            cases=tuple(CASES[size] for size in sizes),
            source=source,
            limits=limits,
        )
        plan = plan_of(submission, random_seed())
        machine = Machine(self.name, self.calibration, self.device.meter)
        with self._calls(limits, runner) as calls:
            *_, found = Judge(submission, plan, random_seed(), calls, machine).judge(source)
        took_s = time.monotonic() - began
        assert isinstance(found, Judgement)
        failure = found.failure
        self.keep(
            name,
            {
                "failure": failure and dataclasses.asdict(failure),
                "took_s": took_s,
                "calls": found.calls,
                "cases": {
                    size: case.model_dump(mode="json")
                    for size, case in zip(sizes, found.cases, strict=True)
                },
            },
        )
        why = f"{failure.reason}: {failure.message[:90]}" if failure else "passed"
        print(f"{name}: {why} {took_s:.1f} s", flush=True)
        for size, case in zip(sizes, found.cases, strict=True):
            if case.timing is not None:
                show(size, case.timing)
        return found

    def sample(self, name: str, size: str) -> None:
        """Time what computes no product."""
        case = CASES[size]
        with self._calls(Limits(), self._runners.popleft()) as calls:
            try:
                calls.hand_over(SOURCES[name], [case])
                calls.measure_baseline()
                assert calls.open() is None
                samples = []
                for number in range(WARM_UP + SAMPLES):
                    called = calls.call(case, "official", random_seed() + number)
                    if called.sample is None:
                        raise RuntimeError(f"{name}: {called.failure}")
                    samples.append(called.sample)
            finally:
                calls.close()
        work = NVFP4_GROUP_GEMM.work(case)
        timing, failure = timing_of(
            samples[WARM_UP:], work, self.name, self.calibration, baseline=calls.baseline
        )
        rows = [dataclasses.asdict(sample) for sample in samples[WARM_UP:]]
        self.keep(f"{name}:{size}", {"timing": dataclasses.asdict(timing), "samples": rows})
        print(f"{name}: {failure and failure.message}", flush=True)
        show(size, timing)

    @contextmanager
    def other(self, name: str, size: str) -> Iterator[Callable[[], None]]:
        """Yield what makes some calls of another file, in a process of its own."""
        with self._calls(Limits(), self._runners.popleft()) as calls:
            calls.hand_over(SOURCES[name], [CASES[size]])
            assert calls.open() is None

            def some() -> None:
                for _ in range(5):
                    calls.call(CASES[size], "official", random_seed())

            try:
                yield some
            finally:
                calls.close()


def show(size: str, timing: Timing) -> None:
    excess_us = timing.wall_median_us - timing.event_median_us - timing.overhead_us
    print(
        f"    {size:12} {timing.median_us:8.2f} us [{timing.p10_us:.2f}, {timing.p90_us:.2f}] "
        f"correction {timing.correction_us:+.2f} "
        f"excess {excess_us:6.1f} n={timing.samples} {timing.method} "
        f"unstable={timing.unstable} launch_bound={timing.launch_bound}",
        flush=True,
    )


def kernels(bench: Bench) -> None:
    """Kernels from 3 to 300 us, and a forger who says done while its kernel runs."""
    bench.judge("portable", PORTABLE, SOURCES["portable"], Limits(), Mode.BENCHMARK)
    for name in OTHERS:
        bench.sample(name, "two_groups")
    bench.sample("portable", "official_2")


def neighbours(bench: Bench) -> None:
    """A good job, bad ones, and the good one again."""
    good = ("official_4",), SOURCES["portable"], Limits(), Mode.BENCHMARK
    before = bench.judge("before", *good)
    for name in ("gpu_harm_endless_kernel", "gpu_harm_illegal_address"):
        source = (CANDIDATES / f"{name}.py").read_bytes()
        bench.judge(name, ("one_group",), source, SHORT, Mode.TEST)
    bench.judge("hog", ("one_group",), HOG, SHORT, Mode.TEST)
    after = bench.judge("after", *good)
    ratio = after.cases[0].timing.median_us / before.cases[0].timing.median_us
    bench.keep("after bad neighbours", ratio)
    print("after bad neighbours:", ratio, flush=True)


def repeats(bench: Bench) -> None:
    """The same file again and again, and what two of its results say of one another.

    In between, another one's calls.
    """
    runs: list[list[Timing]] = []
    found: dict[str, object] = {}
    with bench.other("zero", "two_groups") as other:
        for number in range(REPEATS):
            good = REPEATED, SOURCES["portable"], Limits(), Mode.BENCHMARK
            judged = bench.judge(f"repeat {number}", *good)
            runs.append([case.timing for case in judged.cases])
            other()
            following = zip(runs, runs[1:] + runs[:1], strict=True)
            pairs = [pair for one, two in following for pair in zip(one, two, strict=True)]
            found = {
                "pairs": len(pairs),
                "flagged by events": sum(apart(a, b, corrected=False) for a, b in pairs),
                "flagged": sum(apart(a, b, corrected=True) for a, b in pairs),
            }
            for place, size in enumerate(REPEATED):
                found[size] = beside_one_another([run[place] for run in runs])
            bench.keep("repeats", found)
    print("repeats:", json.dumps(found), flush=True)


def apart(a: Timing, b: Timing, *, corrected: bool) -> bool:
    """Whether p10 to p90 of two jobs do not even touch."""
    a_back_us, b_back_us = (0 if corrected else each.correction_us for each in (a, b))
    a_low, a_high = a.p10_us + a_back_us, a.p90_us + a_back_us
    b_low, b_high = b.p10_us + b_back_us, b.p90_us + b_back_us
    return a_high < b_low or b_high < a_low


def beside_one_another(timings: Sequence[Timing]) -> dict[str, object]:
    """Return what processes take, by events as they are and with their own correction."""
    ways = {
        "events": [timing.event_median_us for timing in timings],
        "corrected": [timing.event_median_us - timing.correction_us for timing in timings],
    }
    found: dict[str, object] = {"correction_us": [round(t.correction_us, 3) for t in timings]}
    for way, medians in ways.items():
        middle = statistics.median(medians)
        found[f"{way}_us"] = [round(median, 2) for median in medians]
        found[f"{way}_sd"] = f"{statistics.pstdev(medians) / middle:.2%}"
        found[f"{way}_range"] = f"{(max(medians) - min(medians)) / middle:.2%}"
        found[way] = [f"{median / middle - 1:+.2%}" for median in medians]
    return found


def cheats(bench: Bench) -> None:
    """What becomes of those who attack the clock."""
    bench.more(len(CHEATS))
    for name in CHEATS:
        if time.monotonic() > bench.deadline_s:
            return
        path = CANDIDATES / f"{name}.py"
        promised = expectations(path)
        assert promised["cases"] == "timed"
        bench.judge(name, ("timed",), path.read_bytes(), SHORT, Mode(promised["mode"]))


def main() -> None:
    """Do all of it."""
    bench = Bench(Path(sys.argv[1]), 1 + len(OTHERS) + 1 + 4 + 1 + REPEATS, float(sys.argv[2]))
    found = [bench.calibrate() for _ in range(2)]
    bench.keep("calibrations", [dataclasses.asdict(each) for each in found])
    print(*found, sep="\n", flush=True)
    bench.calibration = found[-1]
    for part in (kernels, neighbours, repeats, cheats):
        try:
            part(bench)
        except Exception:
            traceback.print_exc()
    bench.keep("proof", bench.device.prove())
    print("proof:", bench.found["proof"], flush=True)


if __name__ == "__main__":
    main()
