"""Times by an independent tool: `triton.testing.do_bench`, in a process of its own.

    python bench/h200/do_bench.py OUT.json NAME:CASE ...

`do_bench` writes a cache-sized buffer before each call, but only once, which takes less than a
launch from Python: for a short kernel it would time the host. Here it writes the buffer as often as
it takes to cover the host; all else is its own.
"""

import importlib.util
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
import triton

from bench.h200.honest import CASES, SOURCES
from kernels.layout import submission_data
from kernels.operands import draw

FLUSHES = 12


def kernel(name: str) -> Callable[[object], object]:
    """Import a source from a file: Triton reads it back."""
    path = Path(f"/tmp/halfbyte_{name}.py")
    path.write_bytes(SOURCES[name])
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module.custom_kernel


def again(once: Callable[[torch.Tensor], object], times: int, cache: torch.Tensor) -> None:
    for _ in range(times):
        once(cache)


def main() -> None:
    """Time what the arguments name, and write medians and quantiles."""
    driver = triton.runtime.driver.active
    once = driver.clear_cache
    found = {}
    for what in sys.argv[2:]:
        name, size = what.split(":")
        operands = draw(CASES[size], 1)
        on_device = [group.to("cuda") for group in operands]
        outputs = [torch.empty(m, n, device="cuda").half() for m, n, _ in CASES[size].groups]
        call = partial(kernel(name), submission_data(on_device, outputs))
        call()
        rows = {}
        for flushes in (1, FLUSHES):
            driver.clear_cache = partial(again, once, flushes)
            p20, median, p80 = triton.testing.do_bench(
                call, warmup=50, rep=200, quantiles=[0.2, 0.5, 0.8]
            )
            rows[str(flushes)] = {
                "median_us": median * 1e3,
                "p20_us": p20 * 1e3,
                "p80_us": p80 * 1e3,
            }
        found[what] = rows
        print(
            what,
            *(
                f"{k}: {v['median_us']:.2f} [{v['p20_us']:.2f}, {v['p80_us']:.2f}]"
                for k, v in rows.items()
            ),
            flush=True,
        )
        Path(sys.argv[1]).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
