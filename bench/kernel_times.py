"""Our kernels against everything one could pick instead, in one run with cold caches.

    python3 bench/kernel_times.py --out OUT.json [--kernel hopper] [--samples 50]

Cases: the four official benchmarks, 256 groups whose m fall off as 1/rank, and m = 1..8. Rivals:
cuBLAS float16 on operands decoded beforehand, eager and as a CUDA graph; `torch._grouped_mm`
bfloat16 on such operands; decoding and cuBLAS together. Ours goes through its public call and is
checked against the reference at the same sizes. `first_call_s` is the first call of a fresh
process, once with an empty compile cache and once with a full one.
"""

import argparse
import json
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
import triton

from kernels.catalog import MODULES
from kernels.compare import compare
from kernels.layout import submission_data
from kernels.nvfp4 import dequantize
from kernels.operands import GroupOperands, draw
from kernels.problem import Case
from kernels.problems import NVFP4_GROUP_GEMM
from kernels.roofline import speed_of_light_us
from kernels.timing import ColdClock, Samples

SKEWED_GROUPS = 256
CASES = {
    **{f"official_{i}": case for i, case in enumerate(NVFP4_GROUP_GEMM.benchmarks, start=1)},
    "skewed": Case(
        tuple(max(1, 1024 // rank) for rank in range(1, SKEWED_GROUPS + 1)),
        (2048,) * SKEWED_GROUPS,
        (2048,) * SKEWED_GROUPS,
    ),
    "decode": Case(tuple(range(1, 9)), (4096,) * 8, (7168,) * 8),
}
Call = Callable[[], object]


def floor_of(case: Case, device: str) -> float | None:
    """Return the speed of light of a case in microseconds."""
    return speed_of_light_us(NVFP4_GROUP_GEMM.work(case), device)


def on_gpu(case: Case, distribution: str) -> list[GroupOperands]:
    """Draw the operands of a case and bring them to the GPU."""
    groups = draw(case, 1, distribution)  # type: ignore[arg-type]
    return [group.to("cuda") for group in groups]


def outputs_of(case: Case) -> list[torch.Tensor]:
    return [torch.full((m, n), torch.nan, device="cuda").half() for m, n, _ in case.groups]


def ours(kernel: str, case: Case, operands: list[GroupOperands]) -> Call:
    data = submission_data(operands, outputs_of(case))
    custom_kernel = import_module(MODULES[kernel]).custom_kernel
    return lambda: custom_kernel(data)


def decoded(operands: list[GroupOperands], dtype: torch.dtype) -> list[tuple[torch.Tensor, ...]]:
    return [
        (dequantize(group.a, group.sfa, dtype), dequantize(group.b, group.sfb, dtype).T)
        for group in operands
    ]


def rivals(case: Case, operands: list[GroupOperands]) -> dict[str, Call]:
    """Return what one could call instead, by name."""
    pairs = decoded(operands, torch.float16)
    outputs = outputs_of(case)

    def cublas() -> None:
        for (a, b), output in zip(pairs, outputs, strict=True):
            torch.mm(a, b, out=output)

    cublas()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        cublas()

    def decode_and_cublas() -> None:
        for (a, b), output in zip(decoded(operands, torch.float16), outputs, strict=True):
            torch.mm(a, b, out=output)

    calls: dict[str, Call] = {
        "cublas_graph": graph.replay,
        "cublas_eager": cublas,
        "decode_and_cublas": decode_and_cublas,
    }
    if len(set(case.n)) == len(set(case.k)) == 1:
        halves = decoded(operands, torch.bfloat16)
        rows = torch.cat([a for a, _ in halves])
        columns = torch.stack([b.T.contiguous() for _, b in halves]).transpose(1, 2)
        ends = torch.tensor(case.m, device="cuda").cumsum(0).to(torch.int32)
        calls["torch_grouped_mm"] = lambda: torch._grouped_mm(rows, columns, offs=ends)
    return calls


def errors(kernel: str, case: Case) -> dict[str, Any]:
    """Check ours on the case's sizes, on official operands and on all codes and scales."""
    found = {}
    for distribution in ("official", "full_range"):
        operands = on_gpu(case, distribution)
        outputs = outputs_of(case)
        import_module(MODULES[kernel]).custom_kernel(submission_data(operands, outputs))
        comparison = compare(outputs, operands, official=distribution == "official")
        found[distribution] = {
            "within_bound": comparison.within_bound,
            "bit_exact": comparison.bit_exact,
            "mismatched_elements": comparison.mismatched_elements,
        }
    return found


def described(samples: Samples) -> dict[str, Any]:
    return {
        "median_us": round(samples.median_us, 2),
        "p10_us": round(samples.p10_us, 2),
        "p90_us": round(samples.p90_us, 2),
        "host_us": round(samples.host_us, 1),
        "samples_us": [round(time_us, 2) for time_us in samples.times_us],
    }


def bench(clock: ColdClock, kernel: str, case: Case, samples: int) -> dict[str, Any]:
    """Time ours, then the rivals, then ours again on one set of operands."""
    operands = on_gpu(case, "official")
    call = ours(kernel, case, operands)
    times = {"ours": described(clock.measure(call, samples))}
    for name, rival in rivals(case, operands).items():
        few = 5 if name == "decode_and_cublas" else samples
        times[name] = described(clock.measure(rival, few))
        torch.cuda.empty_cache()
    times["ours_again"] = described(clock.measure(call, samples))
    floor_us = floor_of(case, torch.cuda.get_device_name())
    ratio = times["cublas_graph"]["median_us"] / times["ours"]["median_us"]
    return {
        "floor_us": floor_us,
        "ours_over_floor": floor_us and round(floor_us / times["ours"]["median_us"], 3),
        "faster_than_cublas_graph": round(ratio, 3),
        "errors": errors(kernel, case),
        "times": times,
    }


def first_calls(kernel: str) -> dict[str, float]:
    """Return the seconds of the first call of a process, without and with a compile cache.

    Raises:
        RuntimeError: what was compiled did not go to the cache that was empty.

    """
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        command = ["env", f"TRITON_CACHE_DIR={folder}", sys.executable, __file__]
        command += ["--kernel", kernel, "--first-call"]
        for name in ("empty_cache", "full_cache"):
            done = subprocess.run(command, capture_output=True, check=True)
            seconds[name] = float(done.stdout)
            if not any(Path(folder).rglob("*.cubin")):
                raise RuntimeError(f"{folder} was not the compile cache: {done.stderr[-500:]!r}")
    return seconds


def first_call_s(kernel: str) -> float:
    case = CASES["official_1"]
    call = ours(kernel, case, on_gpu(case, "official"))
    torch.cuda.synchronize()
    start = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def geomean(cases: dict[str, Any]) -> float | None:
    """Return how much faster than cuBLAS as a graph ours is over the official cases."""
    ratios = [
        found["faster_than_cublas_graph"]
        for name, found in cases.items()
        if name.startswith("official")
    ]
    return round(statistics.geometric_mean(ratios), 3) if ratios else None


def machine() -> dict[str, str | None]:
    return {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "cuda": torch.version.cuda,
        "python": platform.python_version(),
    }


def keep(report: dict[str, Any], out: Path | None) -> None:
    """Write what is known so far: a run that is cut off has not been for nothing."""
    if out:
        out.write_text(json.dumps(report, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", default="hopper", choices=MODULES)
    parser.add_argument("--samples", type=int, default=50)
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=CASES)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--first-call", action="store_true")
    wanted = parser.parse_args()
    if wanted.first_call:
        print(first_call_s(wanted.kernel))
        return
    clock = ColdClock()
    report: dict[str, Any] = {
        "kernel": wanted.kernel,
        "empty_us": round(clock.empty_us, 2),
        "machine": machine(),
        "cases": {},
    }
    for name in wanted.cases:
        found = report["cases"][name] = bench(clock, wanted.kernel, CASES[name], wanted.samples)
        times = {rival: samples["median_us"] for rival, samples in found["times"].items()}
        within = all(error["within_bound"] for error in found["errors"].values())
        print(name, times, "floor", found["floor_us"], "right", within, flush=True)
        keep(report, wanted.out)
        torch.cuda.empty_cache()
    report["geomean_faster_than_cublas_graph"] = geomean(report["cases"])
    keep(report, wanted.out)
    report["first_call_s"] = first_calls(wanted.kernel)
    keep(report, wanted.out)
    print({name: report[name] for name in ("geomean_faster_than_cublas_graph", "first_call_s")})


if __name__ == "__main__":
    main()
