"""What a call finds cold behind a switch of contexts, and what differs between processes.

    python bench/h200/cold_study.py OUT.json [leads] [official] [processes] [one]

Runners are called on the judge's road. Their file times a target by events of its own, behind a
prelude that leaves something warm; which of them is next follows from the number of the call:

    target      nothing  an empty kernel         upload   a small copy from pinned memory
                portable, hopper, auto           kernels of ours
                uploaded `portable`, its table uploaded before the clock
                where    which multiprocessors the first blocks of a launch get
    prelude     none; sleep8: a kernel of 8000 cycles, and so on; many: an empty kernel on every
                multiprocessor; touch: a byte of every 64 KiB of the slot, read by all of them;
                flush: twice the L2 written;
                decoy: the target on other operands; woken: that already when the runner is woken,
                before operands and flushes; stale: likewise, on what is in the slot then

`processes` has many runners, one after the other; `leads` and `official` have one; `one` times the
official benchmarks in this process, as `bench/kernel_times.py` does. The lead of the runner's own
is switched off. Operands are drawn once and nothing is compared.
"""

import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path

from bench.h200.honest import CASES, calls_of, ready_runners
from bench.kernel_times import on_gpu, ours
from kernels.operands import draw
from kernels.timing import ColdClock
from worker import calls as of_judge
from worker.device import Gpu
from worker.environment import describe_machine
from worker.runner_process import RunnerProcess
from worker.sandbox.choose import choose
from worker.sandbox.confinement import Sandbox
from worker.settings import WorkerSettings

OFFICIAL = ("official_1", "official_2", "official_3", "official_4")
PROCESSES = 8
MANY = (
    *("nothing:none", "upload:none", "portable:none", "uploaded:none", "uploaded:flush"),
    *("uploaded:woken+many", "hopper:none", "hopper:many", "hopper:woken+many", "where:none"),
)
LEADS = (
    *("auto:none", "auto:sleep2", "auto:sleep4", "auto:sleep8", "auto:sleep16", "auto:flush"),
    *("portable:none", "portable:sleep4", "portable:sleep8", "portable:flush"),
)
FEW = (
    *("auto:none", "auto:many", "auto:woken", "auto:woken+many", "auto:stale+many"),
    *("auto:touch", "auto:decoy", "auto:flush", "auto:decoy+flush"),
)
PROBE = """
import sys
import __main__
import torch
import triton
import triton.language as tl
from kernels import hopper_gemm, portable_gemm
from kernels.catalog import auto
from kernels.group_table import GroupTable, read_groups

STEPS = [step.split(":") for step in %r]
KERNELS = {
    "auto": auto(),
    "hopper": hopper_gemm.custom_kernel,
    "portable": portable_gemm.custom_kernel,
    "uploaded": portable_gemm.custom_kernel,
}
calls = []
buffers = {}
warm_up = __main__.Stopwatch.warm_up
upload = GroupTable.upload


@triton.jit
def nothing():
    pass


@triton.jit
def touch(base, pages, sums, BLOCK: tl.constexpr):
    total = 0
    for first in range(0, pages, BLOCK):
        page = first + tl.arange(0, BLOCK)
        at = base.to(tl.pointer_type(tl.uint8)) + page.to(tl.int64) * 65536
        total += tl.sum(tl.load(at, mask=page < pages, other=0).to(tl.int32))
    tl.store(sums + tl.program_id(0), total)


@triton.jit
def where(found):
    at = tl.arange(0, 32)
    one = tl.inline_asm_elementwise(
        "mov.u32 $0, %%smid;", "=r,r", [at], dtype=tl.int32, is_pure=False, pack=1
    )
    tl.store(found + tl.program_id(0) * 32 + at, one)


def buffer(name, make):
    if name not in buffers:
        buffers[name] = make()
    return buffers[name]


def copied(x):
    return x.clone() if x.dtype == torch.half else x.view(torch.uint8).clone().view(x.dtype)


def copy_of(data):
    def make():
        abc = [tuple(copied(x) for x in group) for group in data[0]]
        return abc, data[1], [tuple(copied(x) for x in pair) for pair in data[2]], data[3]
    return buffer(str(data[3]), make)


def prelude(name, what, data):
    if name == "many":
        nothing[(264,)]()
    elif name == "touch":
        tensors = [x for group in (*data[0], *data[2]) for x in group]
        low = min(x.data_ptr() for x in tensors)
        high = max(x.data_ptr() + x.numel() * x.element_size() for x in tensors)
        sums = buffer("sums", lambda: torch.zeros(264, dtype=torch.int32, device="cuda"))
        touch[(264,)](low, (high - low + 65535) // 65536, sums, BLOCK=128)
    elif name == "flush":
        buffer("flush", lambda: torch.zeros(64 << 20, dtype=torch.int32, device="cuda")).add_(1)
    elif name.startswith("sleep"):
        torch.cuda._sleep(1000 * int(name[5:]))
    elif name == "decoy":
        KERNELS[what](copy_of(data))


def at_waking(self):
    data = sys._getframe(1).f_locals.get("data")
    what, before = STEPS[len(calls) %% len(STEPS)]
    if data is not None and len(calls) >= len(STEPS):
        if "woken" in before:
            KERNELS[what](copy_of(data))
        elif "stale" in before:
            KERNELS[what](data)
        torch.cuda.synchronize()
    warm_up(self)


def target(name, data):
    if name == "nothing":
        nothing[(1,)]()
    elif name == "upload":
        buffer("there", lambda: torch.zeros(32, device="cuda")).copy_(
            buffer("here", lambda: torch.zeros(32).pin_memory()), non_blocking=True)
    elif name == "where":
        where[(32,)](buffer("where", lambda: torch.zeros(1024, dtype=torch.int32, device="cuda")))
    else:
        KERNELS[name](data)


def custom_kernel(data):
    what, before = STEPS[len(calls) %% len(STEPS)]
    calls.append(what)
    if what == "uploaded":
        groups = read_groups(data)
        table = upload(groups, portable_gemm.portable_tile(groups.shapes, False))
        GroupTable.upload = lambda self, tile: table
    else:
        GroupTable.upload = upload
    for name in before.split("+"):
        prelude(name, what, data)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    target(what, data)
    end.record()
    torch.cuda.synchronize()
    print(what, before, round(begin.elapsed_time(end) * 1e3, 2), flush=True)
    if what == "where":
        print("#", *buffers["where"][::32].tolist(), flush=True)
    return [c for _, _, c in data[0]]


__main__.Stopwatch.warm_up = at_waking
__main__.Stopwatch.lead = lambda self: None
"""
ROUNDS, WARM_UP = 7, 1
Row = tuple[str, str, float, float | None]
"""Size, step, what the file's events say, what our clock says."""
Keep = Callable[[str, object], None]


def called(
    device: Gpu, runner: RunnerProcess, steps: Sequence[str], sizes: Sequence[str]
) -> tuple[list[Row], list[str]]:
    """Call a probe round by round on each case; return what it said beside our clock."""
    source = (PROBE % (tuple(steps),)).encode()
    walls = []
    with calls_of(
        runner, device, device.road(None), source, [CASES[size] for size in sizes]
    ) as calls:
        for size in sizes:
            for _ in range(len(steps) * (ROUNDS + WARM_UP)):
                found = calls.call(CASES[size], "official", 1)
                if found.comparison is None and found.failure is not None:
                    raise RuntimeError(f"{found.failure}: {runner.stderr.text()}")
                walls.append((size, found.sample and found.sample.wall_us))
    said = [line.split() for line in runner.stdout.text().splitlines()]
    places = {" ".join(words[1:]) for words in said if words[0] == "#"}
    said = [words for words in said if words[0] != "#"]
    rows: list[Row] = [
        (size, f"{what}:{before}", float(event_us), wall_us)
        for (size, wall_us), (what, before, event_us) in zip(walls, said, strict=True)
    ]
    of_a_size = len(steps) * (ROUNDS + WARM_UP)
    cold = len(steps) * WARM_UP
    return [row for at, row in enumerate(rows) if at % of_a_size >= cold], sorted(places)


def medians(rows: Sequence[Row]) -> dict[tuple[str, str], float]:
    found = defaultdict(list)
    for size, step, event_us, *_ in rows:
        found[size, step].append(event_us)
    return {key: statistics.median(times) for key, times in found.items()}


def processes(device: Gpu, sandbox: Sandbox, keep: Keep) -> None:
    """Many processes, one after the other, and what differs from one to the next."""
    found = []
    print(*MANY)
    for number, runner in enumerate(ready_runners(sandbox, device, PROCESSES)):
        began = time.monotonic()
        rows, places = called(device, runner, MANY, ("two_groups",))
        found.append({"rows": rows, "places": places})
        keep("processes", found)
        middle = medians(rows)
        words = (f"{middle['two_groups', step]:6.2f}" for step in MANY)
        print(number, *words, f"{time.monotonic() - began:.1f} s", places[:2], flush=True)


def official(device: Gpu, sandbox: Sandbox, keep: Keep) -> None:
    """The kernel of the device, on the official benchmarks."""
    (runner,) = ready_runners(sandbox, device, 1)
    keep("official", shown(device, runner, FEW, OFFICIAL[::-1]))


def leads(device: Gpu, sandbox: Sandbox, keep: Keep) -> None:
    """How long the device has to be busy before a call."""
    (runner,) = ready_runners(sandbox, device, 1)
    keep("leads", shown(device, runner, LEADS, ("official_4", "two_groups")))


def shown(
    device: Gpu, runner: RunnerProcess, steps: Sequence[str], sizes: Sequence[str]
) -> list[Row]:
    """Call a probe, print medians and return the rows."""
    rows, _ = called(device, runner, steps, sizes)
    middle = medians(rows)
    print(*steps)
    for size in sizes:
        print(size, *(f"{middle[size, step]:7.2f}" for step in steps), flush=True)
    return rows


def one(keep: Keep) -> None:
    """The same kernels in this process."""
    clock = ColdClock()
    found = {"empty_us": clock.empty_us}
    for size in OFFICIAL:
        samples = clock.measure(ours("hopper", CASES[size], on_gpu(CASES[size], "official")), 40)
        found[size] = samples.times_us
        print("one process", size, round(samples.median_us, 2), flush=True)
    keep("one", found)


def main() -> None:
    out = Path(sys.argv[1])
    parts = sys.argv[2:] or ["leads", "official", "processes", "one"]
    kept: dict[str, object] = {}

    def keep(name: str, value: object) -> None:
        kept[name] = value
        out.write_text(json.dumps(kept))

    keep("machine", describe_machine("").model_dump(mode="json"))
    began = time.monotonic()
    drawn = cache(lambda case: draw(case, 1))
    of_judge.draw = lambda case, *_: drawn(case)
    of_judge.compare = of_judge.wrong_values = lambda *_, **__: None
    device = Gpu(WorkerSettings())
    sandbox = choose(device.sandbox, device.environment)
    known = {
        "one": partial(one, keep),
        "leads": partial(leads, device, sandbox, keep),
        "official": partial(official, device, sandbox, keep),
        "processes": partial(processes, device, sandbox, keep),
    }
    for part in parts:
        known[part]()
        print(f"{part}: {time.monotonic() - began:.1f} s passed", flush=True)


if __name__ == "__main__":
    main()
