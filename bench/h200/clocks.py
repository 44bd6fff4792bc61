"""How long a GPU has to work before its clocks, and so its times, are what they are under load."""

import json
import statistics
import sys
import time
from pathlib import Path

import pynvml
import torch

IDLE_S = 0.3
WARM_MS = (0, 1, 2, 5, 10, 20, 50, 100)
REPEATS = 9


def main() -> None:
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    a, b = (torch.randn(4096, 4096, device="cuda").half() for _ in range(2))
    work = (
        torch.randn(1024, 7168, device="cuda").half(),
        torch.randn(7168, 4096, device="cuda").half(),
    )
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    rows = []
    for warm_ms in WARM_MS:
        times, clocks = [], []
        for _ in range(REPEATS):
            torch.cuda.synchronize()
            time.sleep(IDLE_S)
            stop = time.perf_counter() + warm_ms / 1e3
            while time.perf_counter() < stop:
                a @ b
                torch.cuda.synchronize()
            begin.record()
            work[0] @ work[1]
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) * 1e3)
            clocks.append(pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM))
        rows.append(
            {
                "warm_ms": warm_ms,
                "median_us": statistics.median(times),
                "worst_us": max(times),
                "sm_mhz": statistics.median(clocks),
            }
        )
        print(rows[-1], flush=True)
    Path(sys.argv[1]).write_text(json.dumps({"gpu": torch.cuda.get_device_name(), "rows": rows}))


if __name__ == "__main__":
    main()
