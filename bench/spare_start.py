"""From a warm spare to an imported file: sandboxed beside unsandboxed, in one run.

    .venv/bin/python bench/spare_start.py [OUT.json]

Each round takes a warm spare of either kind, hands it a small file, and waits until it is imported.
"""

import json
import os
import platform
import statistics
import sys
import time
from pathlib import Path

from contract.limits import Limits
from kernels.problem import Case
from worker.calls import Calls
from worker.device import find_device
from worker.sandbox.choose import choose
from worker.sandbox.unconfined import Unconfined
from worker.settings import WorkerSettings
from worker.spares import Spares

SOURCE = b"def custom_kernel(data):\n    return [c for _, _, c in data[0]]\n"
CASE = Case(m=(16,), n=(16,), k=(16,))
ROUNDS = 20


def main() -> None:
    """Alternate between both, so that whatever else the machine does hits both alike."""
    device = find_device(WorkerSettings())
    limits = Limits()
    never = os.eventfd(0)
    sandboxes = {
        "sandboxed": choose(device.sandbox, device.environment),
        "unsandboxed": Unconfined(),
    }
    spares = {
        name: Spares(sandbox, device.environment, limits, 1) for name, sandbox in sandboxes.items()
    }
    times_ms: dict[str, list[float]] = {name: [] for name in spares}
    for _ in range(ROUNDS):
        for name, pool in spares.items():
            pool.fill()
            while not pool.warm():
                time.sleep(0.01)
            started_s = time.perf_counter()
            runner = pool.take(limits, never)
            calls = Calls(runner, device.ground, device.road(None), limits, never)
            calls.hand_over(SOURCE, (CASE,))
            assert calls.open() is None
            times_ms[name].append((time.perf_counter() - started_s) * 1e3)
            calls.close()
            runner.close()
    for pool in spares.values():
        pool.close()
    median_ms = {name: statistics.median(times) for name, times in times_ms.items()}
    result = {
        "what": "milliseconds from taking a warm spare to its answer that the file is imported",
        "sandbox": sandboxes["sandboxed"].description,
        "machine": {"cpus": os.cpu_count(), "kernel": platform.release()},
        "load_average": os.getloadavg(),
        "median_ms": median_ms,
        "difference_ms": median_ms["sandboxed"] - median_ms["unsandboxed"],
        "times_ms": times_ms,
    }
    print(json.dumps({"median_ms": median_ms, "difference_ms": result["difference_ms"]}))
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "bench/results/spare_start.json")
    out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
