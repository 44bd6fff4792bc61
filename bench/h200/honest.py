"""Honest kernels and sizes that are timed in more than one way, and the road to time them on.

Some compute no product: what is timed here need not be right.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from contract.limits import Limits
from kernels.catalog import candidate_source
from kernels.problem import Case
from kernels.problems import NVFP4_GROUP_GEMM
from worker.calls import Calls
from worker.device import Gpu
from worker.road import Road
from worker.runner_process import RunnerProcess
from worker.sandbox.confinement import Sandbox

CASES = {
    "one_group": Case(m=(64,), n=(256,), k=(256,)),
    "two_groups": Case(m=(128,) * 2, n=(512,) * 2, k=(512,) * 2),
    "four_groups": Case(m=(128,) * 4, n=(1024,) * 4, k=(1024,) * 4),
    "timed": Case(m=(256, 192), n=(2048, 2048), k=(2048, 2048)),
    **{f"official_{number}": case for number, case in enumerate(NVFP4_GROUP_GEMM.benchmarks, 1)},
}
NOTHING = b"""
import triton
@triton.jit
def nothing():
    pass
def custom_kernel(data):
    nothing[(1,)]()
    return [c for _, _, c in data[0]]
"""
ZERO = b"""
def custom_kernel(data):
    outputs = [c for _, _, c in data[0]]
    for output in outputs:
        output.zero_()
    return outputs
"""
MATMUL = b"""
import torch
a = torch.randn(1024, 7168, device="cuda").half()
b = torch.randn(7168, 4096, device="cuda").half()
c = torch.empty(1024, 4096, device="cuda").half()
def custom_kernel(data):
    torch.mm(a, b, out=c)
    return [c for _, _, c in data[0]]
"""
PINNED = b"""
import torch
def custom_kernel(data):
    outputs = [c for _, _, c in data[0]]
    torch.ones(9, len(outputs)).pin_memory().to("cuda", non_blocking=True)
    outputs[0].zero_()
    return outputs
"""
PAGEABLE = b"""
import torch
def custom_kernel(data):
    outputs = [c for _, _, c in data[0]]
    torch.ones(9, len(outputs)).cuda()
    outputs[0].zero_()
    return outputs
"""
BUSY = b"""
import itertools, time
waits_us = itertools.cycle(range(0, 1600, 100))
def custom_kernel(data):
    outputs = [c for _, _, c in data[0]]
    stop = time.perf_counter() + next(waits_us) * 1e-6
    while time.perf_counter() < stop:
        pass
    outputs[0].zero_()
    return outputs
"""
EARLY = b"""
import itertools, sys, time, torch
waits_us = itertools.cycle(range(100, 300, 10))
def custom_kernel(data):
    outputs = [c for _, _, c in data[0]]
    torch.cuda._sleep(500_000)
    caller = sys._getframe(1).f_locals
    wait_us = next(waits_us)
    while not caller["begin"].query():
        pass
    stop = time.perf_counter() + wait_us * 1e-6
    while time.perf_counter() < stop:
        pass
    if wait_us < 280:
        caller["control"].finish(caller["token"])
    return outputs
"""
SOURCES = {
    "early": EARLY,
    "nothing": NOTHING,
    "zero": ZERO,
    "matmul": MATMUL,
    "pinned": PINNED,
    "pageable": PAGEABLE,
    "busy": BUSY,
    "portable": candidate_source("portable"),
    "own_streams": Path("tests/candidates/gpu_honest_own_streams.py").read_bytes(),
}


@contextmanager
def calls_of(
    runner: RunnerProcess, device: Gpu, road: Road, source: bytes, cases: list[Case]
) -> Iterator[Calls]:
    """Hand a ready runner a file; what it holds is given back at the end."""
    calls = Calls(runner, device.ground, road, Limits(), os.eventfd(0))
    try:
        calls.hand_over(source, cases)
        if (failure := calls.open()) is not None:
            raise RuntimeError(failure.message)
        yield calls
    finally:
        calls.close()
        runner.close()


def ready_runners(
    sandbox: Sandbox, device: Gpu, count: int, limits: Limits | None = None
) -> list[RunnerProcess]:
    """Start some at once, and wait for all: imports would disturb what is timed."""
    runners = [RunnerProcess(sandbox, device.environment, limits or Limits()) for _ in range(count)]
    never = os.eventfd(0)
    for runner in runners:
        runner.wait_ready(never)
    return runners
