"""Device times of calls in this process, with cold caches.

Theory of operation
    Before every sample every multiprocessor runs some hundred thousand bytes of other code, and a
    buffer of at least twice the L2 is written, after the operands were: so operands and the code of
    the call come from device memory, as where other kernels ran before it. Then an event, the call,
    an event: the time between the events is the sample. Writing the buffer also covers the host:
    while the device writes, the host enqueues the call, and the events stand close around its work.
    So the buffer is written as often as it takes to cover the host's time of a call twice; what a
    call costs on the host shows in `host_us`, never in the samples. Two events with nothing between
    them are some microseconds apart, which every sample holds: `empty_us` says how many, and
    nothing is subtracted.

    What disturbs: other work on the device, clocks that change with load and warmth. Compare within
    one run, take medians, and look at the spread before believing a difference.
"""

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
import triton
import triton.language as tl

_LEAST_FLUSH_BYTES = 256 << 20
_WARM_UPS = 3
_STEPS = 6144
"""Of other code. Each takes about three instructions of 16 bytes."""
_OTHER_CODE = tl.constexpr(
    "{ .reg .u32 x; mov.u32 x, $1; "
    + "".join(f"mad.lo.u32 x, x, {2 * i + 3}, {i}; xor.b32 x, x, {i + 1}; " for i in range(_STEPS))
    + "mov.u32 $0, x; }"
)


@triton.jit
def _run_other_code(found):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    at = tl.program_id(0) * 32 + tl.arange(0, 32)
    x = tl.inline_asm_elementwise(_OTHER_CODE, "=r,r", [at], tl.int32, is_pure=False, pack=1)
    tl.store(found + at, x)


@dataclass(frozen=True, slots=True)
class Samples:
    """Times of one call in microseconds."""

    times_us: tuple[float, ...]
    host_us: float
    """What enqueuing a call takes on the host; the median."""

    @property
    def median_us(self) -> float:
        """The median."""
        return statistics.median(self.times_us)

    @property
    def p10_us(self) -> float:
        """The tenth percentile."""
        return statistics.quantiles(self.times_us, n=10)[0]

    @property
    def p90_us(self) -> float:
        """The ninetieth percentile."""
        return statistics.quantiles(self.times_us, n=10)[-1]


class ColdClock:
    """Times calls on the current device and stream."""

    def __init__(self) -> None:
        """Take the flush buffer and measure what writing it takes."""
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        flush_bytes = max(_LEAST_FLUSH_BYTES, 2 * properties.L2_cache_size)
        self._flush = torch.zeros(flush_bytes // 4, dtype=torch.int32, device="cuda")
        self._everywhere = (2 * properties.multi_processor_count,)
        self._flush_us = 1.0
        self._flush_us = self._sample(lambda: self._flush.add_(1), 5, 1)
        self.empty_us = self._sample(lambda: None, 20, 1)
        """Between two events with nothing between them; the median."""

    def measure(self, call: Callable[[], object], samples: int = 50) -> Samples:
        """Time a call that takes no arguments and works on the current stream."""
        for _ in range(_WARM_UPS):
            call()
        host_us = _host_us(call)
        passes = 1 + math.ceil(2 * host_us / self._flush_us)
        return Samples(tuple(self._samples(call, samples, passes)), host_us)

    def _sample(self, call: Callable[[], object], samples: int, passes: int) -> float:
        call()
        return statistics.median(self._samples(call, samples, passes))

    def _samples(self, call: Callable[[], object], samples: int, passes: int) -> list[float]:
        pairs = []
        for _ in range(samples):
            start, end = _event(), _event()
            _run_other_code[self._everywhere](self._flush, num_warps=1)
            for _ in range(passes):
                self._flush.add_(1)
            start.record()
            call()
            end.record()
            pairs.append((start, end))
            # A full queue would make the host wait between the events.
            end.synchronize()
        return [start.elapsed_time(end) * 1e3 for start, end in pairs]


def _event() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]


def _host_us(call: Callable[[], object]) -> float:
    times = []
    for _ in range(10):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e6)
    torch.cuda.synchronize()
    return statistics.median(times)
