"""What one process has and another has not: the same file in many, one after the other.

    python bench/h200/process_study.py OUT.json SECONDS

Runners are called on the judge's road, with a small job of somebody else's in between, and timed by
their own two events and by the judge's clock. `bench/h200/process_probe.py` says what is called.
Some processes have an environment of their own. Operands are drawn once and nothing is compared.
"""

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path

import torch

from bench.h200.honest import CASES, SOURCES, calls_of
from bench.h200.process_probe import SIZES, STEPS, WARM_UP, order_of_steps, source
from bench.h200.process_table import HEADING, Process, Rows, show_figures, show_process
from contract.limits import Limits
from kernels.layout import Layout
from kernels.operands import GroupOperands, draw
from worker import calls as of_judge
from worker.calls import Calls
from worker.device import Gpu
from worker.environment import describe_machine
from worker.ground import Image
from worker.runner_process import RunnerProcess
from worker.sandbox.choose import choose
from worker.settings import WorkerSettings

KINDS = {
    "plain": {},
    "connection": {"CUDA_DEVICE_MAX_CONNECTIONS": "1"},
    "queue": {"CUDA_SCALE_LAUNCH_QUEUES": "4x"},
}
PROCESSES = (*("plain", "plain", "connection", "plain", "plain", "queue") * 3, "plain", "plain")
COMPILERS = 8


def called(calls: Calls, runner: RunnerProcess, order: Sequence[int]) -> Process:
    """Make all calls of a process and return its rows and what it says of itself."""
    rows: Rows = defaultdict(list)
    for number, step in enumerate([*order, order[0]]):  # before the last one it reports
        found = calls.call(CASES[SIZES[STEPS[step][0]]], "official", 1)
        if found.sample is None:
            words = runner.stderr.text()[-600:]
            raise RuntimeError(f"call {number}, {STEPS[step]}: {found.failure} {words}")
        if WARM_UP * len(STEPS) <= number < len(order):
            call = round(found.sample.event_us, 2), round(found.sample.wall_us, 1)
            rows[STEPS[step]].append(call)
    said = json.loads(runner.stdout.text().strip().splitlines()[-1])
    return {"rows": rows, **said}


Opened = tuple[RunnerProcess, Calls, ExitStack]


def open_all(device: Gpu, runners: Sequence[RunnerProcess]) -> list[Opened | None]:
    """Have all import the file at once: compiling takes longer than all calls."""
    road = device.road(None)
    cases = [CASES[size] for size in SIZES.values()]

    def open_one(runner: RunnerProcess) -> Opened | None:
        stack = ExitStack()
        try:
            calls = stack.enter_context(calls_of(runner, device, road, source(), cases))
        except Exception as error:
            print("a runner did not import:", error, runner.stderr.text()[-600:], flush=True)
            return None
        return runner, calls, stack

    def begin() -> None:
        torch.zeros(1, device="cuda")

    with ThreadPoolExecutor(COMPILERS, initializer=begin) as pool:
        return list(pool.map(open_one, runners))


def prepare() -> None:
    """Draw once, and compare nothing."""
    drawn = cache(lambda case: draw(case, 1))
    images: dict[object, Image] = {}
    load = Image.load

    def load_once(layout: Layout, operands: Sequence[GroupOperands], device: str) -> Image:
        if layout.groups not in images:
            images[layout.groups] = load(layout, operands, device)
        return images[layout.groups]

    of_judge.draw = lambda case, *_: drawn(case)
    of_judge.compare = of_judge.wrong_values = lambda *_, **__: None
    Image.load = staticmethod(load_once)
    Image.modified_input = lambda *_: None


def study(device: Gpu, keep: Callable[[str, object], None], deadline_s: float) -> list[Process]:
    """Call one process after the other, as many as there is time for; return the plain ones."""
    sandbox = choose(device.sandbox, device.environment)
    order = order_of_steps()
    runners = [
        RunnerProcess(sandbox, {**device.environment, **KINDS[kind]}, Limits())
        for kind in (*PROCESSES, "plain")
    ]
    never = os.eventfd(0)
    for runner in runners:
        runner.wait_ready(never)
    left_s = partial(left_until, deadline_s)
    print(f"{len(runners)} runners are ready, {left_s():.0f} s are left", flush=True)
    opened = open_all(device, runners[:-1])
    print(f"all have imported, {left_s():.0f} s are left", flush=True)
    print("nr kind  ", *HEADING, flush=True)
    found: list[Process] = []
    small = CASES["two_groups"]
    with calls_of(runners[-1], device, device.road(None), SOURCES["zero"], [small]) as other:
        for number, (kind, each) in enumerate(zip(PROCESSES, opened, strict=True)):
            if each is None:
                continue
            runner, calls, stack = each
            with stack:
                if left_s() < 0:
                    continue
                for _ in range(5):
                    other.call(small, "official", 1)
                try:
                    found.append({"kind": kind, **called(calls, runner, order)})
                    show_process(number, found[-1])
                except Exception as error:
                    print(number, kind, "failed:", error, flush=True)
            keep("processes", found)
    print(f"all were called, {left_s():.0f} s are left", flush=True)
    return [each for each in found if each["kind"] == "plain"]


def left_until(deadline_s: float) -> float:
    return deadline_s - time.monotonic()


def main() -> None:
    """Study, and print the tables."""
    out, deadline_s = Path(sys.argv[1]), time.monotonic() + float(sys.argv[2])
    kept: dict[str, object] = {}

    def keep(name: str, value: object) -> None:
        kept[name] = value
        out.write_text(json.dumps(kept, separators=(",", ":")))

    prepare()
    device = Gpu(WorkerSettings())
    keep("environment", describe_machine("").model_dump(mode="json"))
    keep("steps", STEPS)
    found = study(device, keep, deadline_s)
    if len(found) > 1:
        show_figures(found)


if __name__ == "__main__":
    main()
