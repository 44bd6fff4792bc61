"""A GPU as the judge's ground: staging that leaves the caches cold, and what that costs."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from cuda.bindings import driver

from worker.arena import Piece
from worker.cuda_memory import DevicePiece, wait_for_word
from worker.ground import get_device, put_device
from worker.own_core import OwnCore
from worker.road import InSlot

LEAST_FLUSH_BYTES: Final = 256 << 20
WARM_S: Final = 0.01
"""How long a device has to work after some idle tenths of a second: see bench/h200/clocks.py."""
LEADS: Final = 2
"""Flushes that keep the device busy while the host enqueues what follows: no gaps, no turns."""
COVERS: Final = 8
"""Flushes before a call. What a host needs to launch its work hides behind them: about 1 ms."""
TOUCHES: Final = 3
TOUCH_LIMIT_US: Final = 120.0
"""A tiny kernel on an idle device takes less; a switch of contexts takes more. One in three."""
REGAIN_S: Final = 1.0
"""From the done word to the copy behind it; a runner that has taken the word back is stopped."""
REPEATS: Final = 9
HUNG_S: Final = 5.0
SPARE_BYTES: Final = 768 << 20
"""What the context of a warm spare may take. About 560 MiB on an H200."""
JUDGE_BYTES: Final = 256 << 20
"""What the judge's own context may grow by over its first jobs. 194 MiB were seen on an H200."""
GPUS: Final = Path("/proc/driver/nvidia/gpus")


class GpuUnhealthy(Exception):
    """The device hangs, computes wrongly, or holds memory that nobody owns."""


@dataclass(frozen=True, slots=True)
class Spans:
    """What the judge's own events say of a call: the device's clock, in the judge's context."""

    covered_us: float
    """From the first operand that is copied to the end of the last flush."""
    away_us: float
    """From there until the device is the judge's again: the switch, the call, and the switch back.

    Whatever a runner left running is in it."""


class GpuGround:
    """The first GPU that this process sees."""

    emulated = False
    device = "cuda"

    def __init__(self) -> None:
        """Take the flush buffer: at least twice the L2, written after the operands."""
        properties = torch.cuda.get_device_properties(0)
        self.own_core = OwnCore(*_among_gpus(properties))
        torch.set_num_threads(self.own_core.others)
        self.flush_bytes = max(LEAST_FLUSH_BYTES, 2 * properties.L2_cache_size)
        self._flush = torch.zeros(self.flush_bytes // 4, dtype=torch.int32, device="cuda")
        self._few = self._flush[:32]
        self._begin, self._end, self._back, self._copied = (
            torch.cuda.Event(enable_timing=True) for _ in range(4)
        )

    def piece(self, size_bytes: int) -> Piece:
        """Allocate device memory with a descriptor."""
        return DevicePiece(size_bytes)

    def warm(self) -> None:
        """Keep the device busy until its clocks are what they are under load.

        Between calls it idles while operands are drawn, and an idle device lowers its clocks. So
        does one that multiplies matrices for long, when it reaches its power limit.
        """
        stop_s = time.perf_counter() + WARM_S
        while time.perf_counter() < stop_s:
            self.flush()
            torch.cuda.synchronize()

    def take_back(self) -> bool:
        """Take the device back from a runner, and say whether it is idle.

        The first touch is a switch of contexts. The ones behind it find nobody else, or wait for
        whom they find: by our own clock, since events would not see a switch before them.
        """
        self._touch_us()
        driver.cuCtxResetPersistingL2Cache()  # lines that were set to stay would outlive a flush
        return any(self._touch_us() <= TOUCH_LIMIT_US for _ in range(TOUCHES))

    def cover(self, slot: InSlot, word: int, token: int) -> None:
        """Enqueue all of the judge's part of a call, and do not wait.

        Operands, then flushes. Then the device is everybody's until the word at this address of its
        own becomes the token; and then the device part of the slot is copied away.
        """
        for _ in range(LEADS):
            self.flush()
        self._begin.record()
        put_device(slot.image, slot.arena, slot.place)
        for _ in range(COVERS):
            self.flush()
        self._end.record()
        wait_for_word(word, token)
        self._few.add_(1)  # an event alone could be noted while somebody else has the device
        self._back.record()
        get_device(slot.after, slot.arena, slot.place)
        self._copied.record()

    def regain(self, write_word: Callable[[], None], stop_others: Callable[[], None]) -> bool:
        """Wait until the slot was copied away; False where somebody had to be stopped for that."""
        write_word()
        deadline_s = time.monotonic() + REGAIN_S
        while not self._copied.query():
            if time.monotonic() > deadline_s:
                stop_others()
                write_word()
                torch.cuda.synchronize()
                return False
        return True

    def spans(self) -> Spans:
        """Return what the events of the last call say."""
        covered_ms = self._begin.elapsed_time(self._end)
        return Spans(covered_ms * 1e3, self._end.elapsed_time(self._back) * 1e3)

    def flush(self) -> None:
        """Write more than the L2 holds."""
        self._flush.add_(1)

    def _touch_us(self) -> float:
        started_ns = time.perf_counter_ns()
        self._few.add_(1)
        torch.cuda.synchronize()
        return (time.perf_counter_ns() - started_ns) / 1e3


def staging_cost(ground: GpuGround) -> tuple[float, float]:
    """Return the microseconds of the flushes before a call, and of copying one byte."""
    size_bytes = 128 << 20
    source, target = (torch.empty(size_bytes, dtype=torch.uint8, device="cuda") for _ in range(2))

    def flushes() -> None:
        for _ in range(COVERS):
            ground.flush()

    flush_us = _median_us(ground, flushes)
    return flush_us, _median_us(ground, lambda: target.copy_(source)) / size_bytes


def _median_us(ground: GpuGround, work: Callable[[], object]) -> float:
    """Time what is enqueued without gaps, behind a flush."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    times = []
    for _ in range(REPEATS):
        for _ in range(LEADS):
            ground.flush()
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(float(begin.elapsed_time(end)) * 1e3)
    return statistics.median(times)


def _among_gpus(properties: Any) -> tuple[int, int]:  # noqa: ANN401  (torch has no type for it)
    """Return the number of a GPU among those of this machine, and how many these are."""
    address = (
        f"{properties.pci_domain_id:04x}:{properties.pci_bus_id:02x}:"
        f"{properties.pci_device_id:02x}.0"
    )
    addresses = sorted(folder.name for folder in GPUS.glob("*"))
    if address not in addresses:
        return 0, max(1, len(addresses))
    return addresses.index(address), len(addresses)


def prove(allowed_bytes: int) -> None:
    """Have the device compute something, and look at its memory.

    Raises:
        GpuUnhealthy: no answer within some seconds, a wrong one, or too much memory in use.

    """
    try:
        ones = torch.ones((256, 256), dtype=torch.float16, device="cuda")
        product = ones @ ones
        done = torch.cuda.Event()
        done.record()
        deadline_s = time.monotonic() + HUNG_S
        while not done.query():
            if time.monotonic() > deadline_s:
                raise GpuUnhealthy(f"the device did not answer within {HUNG_S:g} s")
            time.sleep(0.001)
        if not bool((product == 256).all()):
            raise GpuUnhealthy("the device multiplies wrongly")
        used_bytes = memory_in_use()
    except RuntimeError as error:
        raise GpuUnhealthy(f"the device failed: {error}") from error
    if used_bytes > allowed_bytes:
        raise GpuUnhealthy(
            f"{used_bytes >> 20} MiB are in use after the job, {allowed_bytes >> 20} may be"
        )


def memory_in_use() -> int:
    """Return the bytes of device memory in use, without what our own allocator keeps."""
    free, total = torch.cuda.mem_get_info()
    return total - free - torch.cuda.memory_reserved()
