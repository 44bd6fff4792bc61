"""A file that is called with one step after the other, for `bench/h200/process_study.py`.

A step is a size, a target and what is launched in front of the runner's first event:

    target      nothing   an empty kernel            twice     two of them
                spin      one block, no memory       read      all bytes of the operands, once
                upload    a small copy from pinned memory
                portable  the kernel, which uploads its table and then runs
                uploaded  the same, its table uploaded when the runner was woken
                behind    the same behind something tiny, so behind the first event
                stamped   the same with the device's own time (32 ns) at the begin and the end of
                          every block, before all and behind all
    lead        touch     something tiny, as the runner has it; eight: eight of them
                event     an event more              upload    a small copy more
                spin8     a kernel of 8000 cycles    spin32    of 32000
                gate      a word that the stream writes and waits for
                flush     twice the L2 written       stamp     something tiny that notes the time
"""

import random

STEPS = (
    *("T nothing touch", "T twice touch", "T spin touch", "T read touch", "T upload touch"),
    *("T uploaded touch", "T portable touch", "O uploaded touch", "O portable touch"),
    *("T stamped stamp", "O stamped stamp"),
    *("T portable event", "T portable eight", "T portable upload", "T portable gate"),
    *("T portable spin8", "T portable spin32", "T portable flush"),
    *("T behind touch", "T nothing spin32", "T nothing flush"),
)
SIZES = {"T": "two_groups", "O": "official_4"}
ROUNDS, WARM_UP = 12, 1
PROBE = '''
import ctypes
import json
import sys
from collections import Counter
import __main__
import torch
import triton
import triton.language as tl
from cuda.bindings import driver
from kernels import portable_gemm
from kernels.group_table import GroupTable, read_groups
from kernels.portable_gemm import _grouped_kernel
from kernels.tiles import portable_tile

BLOCKS = 256
plain_warm_up = __main__.Stopwatch.warm_up
plain_upload = GroupTable.upload
count = 0
broken = {}
kept = {}
flush = torch.zeros(64 << 20, dtype=torch.int32, device="cuda")
there, here = torch.zeros(32, device="cuda"), torch.zeros(32).pin_memory()
gate = torch.zeros(64, dtype=torch.int32, device="cuda")
sums = torch.zeros(4096, dtype=torch.int32, device="cuda")
more = torch.cuda.Event(enable_timing=True)
stamps = torch.zeros((1 + sum("stamped" in STEPS[n] for n in ORDER), 64 + 3 * BLOCKS),
                     dtype=torch.int64, device="cuda")
row = 0


@triton.jit
def nothing():
    pass


@triton.jit
def now(at):
    return tl.inline_asm_elementwise(
        "mov.u64 $0, %globaltimer;", "=l,r", [at], dtype=tl.int64, is_pure=False, pack=1
    )


@triton.jit
def where(at):
    return tl.inline_asm_elementwise(
        "mov.u32 $0, %smid;", "=r,r", [at], dtype=tl.int32, is_pure=False, pack=1
    )


@triton.jit
def stamp(found):
    at = tl.arange(0, 32)
    tl.store(found + at, now(at))


@triton.jit
def read(base, sums, BLOCK: tl.constexpr):
    at = base.to(tl.pointer_type(tl.uint8)) + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(sums + tl.program_id(0), tl.sum(tl.load(at).to(tl.int32)))


@triton.jit
def stamped(
    table, found, GROUPS: tl.constexpr, GROUPS_POWER: tl.constexpr, ALIGN: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, BLOCKS: tl.constexpr,
):
    at = tl.arange(0, 32)
    begin = tl.min(now(at))
    _grouped_kernel(table, GROUPS, GROUPS_POWER, ALIGN, BLOCK_M, BLOCK_N, BLOCK_K)
    end = tl.max(now(at))
    found += tl.program_id(0)
    tl.store(found, begin)
    tl.store(found + BLOCKS, end)
    tl.store(found + 2 * BLOCKS, tl.max(where(at)).to(tl.int64))


def options(groups):
    tile = portable_tile(groups.shapes, False)
    two = len(groups.shapes)
    return dict(
        GROUPS=two, GROUPS_POWER=triton.next_power_of_2(two), ALIGN=16, BLOCK_M=tile.block_m,
        BLOCK_N=tile.block_n, BLOCK_K=tile.block_k, num_warps=tile.warps, num_stages=tile.stages,
    )


def tolerant(name, work):
    """A step that fails is left out; the others go on."""
    try:
        work()
    except Exception as error:
        broken.setdefault(name, repr(error)[:300])


def compile_ahead():
    from kernels.problem import GroupShape
    shapes = (GroupShape(128, 512, 512),) * 2
    given = options(GroupTable(shapes, (), torch.device("cuda")))
    _grouped_kernel.warmup(torch.int64, grid=(1,), **given)
    stamped.warmup(torch.int64, torch.int64, BLOCKS=BLOCKS, grid=(1,), **given)


def copy():
    there.copy_(here, non_blocking=True)


def pass_gate():
    zero, word = driver.CUstream(0), count + 1
    for status, in (
        driver.cuStreamWriteValue32(zero, gate.data_ptr(), word, 0),
        driver.cuStreamWaitValue32(zero, gate.data_ptr(), word, 1),
    ):
        if status:
            raise RuntimeError(str(status))


def lead(self):
    name = STEPS[ORDER[count % len(ORDER)]].split()[2]
    if name == "stamp":
        return tolerant("stamp", lambda: stamp[(1,)](stamps[row]))
    self._touched.add_(1)
    if name == "eight":
        for _ in range(7):
            self._touched.add_(1)
    elif name == "event":
        more.record()
    elif name.startswith("spin"):
        torch.cuda._sleep(1000 * int(name[4:]))
    elif name == "gate":
        tolerant(name, pass_gate)
    elif name == "flush":
        flush.add_(1)
    elif name == "upload":
        copy()


def at_waking(self):
    kept["touched"] = self._touched
    if count == len(ORDER):
        report()
    data = sys._getframe(1).f_locals.get("data")
    GroupTable.upload = plain_upload
    if data is not None and "uploaded" in STEPS[ORDER[count % len(ORDER)]]:
        groups = read_groups(data)
        table = groups.upload(portable_tile(groups.shapes, False))
        GroupTable.upload = lambda self, tile: table
    plain_warm_up(self)


def run_stamped(data):
    global row
    groups = read_groups(data)
    tile = portable_tile(groups.shapes, False)
    tiles, here = groups.tiles(tile), stamps[row]
    stamped[(tiles,)](groups.upload(tile), here[64:], BLOCKS=BLOCKS, **options(groups))
    stamp[(1,)](here[32:])
    kept["row", row] = tiles
    row += 1


def run_read(data):
    tensors = [x for group in data[0] for x in group[:2]] + [x for two in data[2] for x in two]
    low = min(x.data_ptr() for x in tensors)
    high = max(x.data_ptr() + x.numel() * x.element_size() for x in tensors)
    read[((high - low) // 4096,)](low, sums, BLOCK=4096)


def behind(data):
    kept["touched"].add_(1)
    portable_gemm.custom_kernel(data)


def twice():
    nothing[(1,)]()
    nothing[(1,)]()


TARGETS = {
    "nothing": lambda data: nothing[(1,)](),
    "twice": lambda data: twice(),
    "spin": lambda data: torch.cuda._sleep(9000),
    "read": run_read,
    "upload": lambda data: copy(),
    "uploaded": portable_gemm.custom_kernel,
    "portable": portable_gemm.custom_kernel,
    "behind": behind,
    "stamped": run_stamped,
}


def custom_kernel(data):
    global count
    kept["at"] = data[0][0][0].data_ptr()
    what = STEPS[ORDER[count % len(ORDER)]].split()[1]
    count += 1
    tolerant(what, lambda: TARGETS[what](data))
    return [c for _, _, c in data[0]]


def report():
    times, places = [], Counter()
    for number, found in enumerate(stamps[:row].tolist()):
        tiles = kept["row", number]
        begins, ends, at = (found[64 + BLOCKS * part :][:tiles] for part in range(3))
        times.append([min(begins) - found[0], max(begins) - min(begins),
                      max(ends) - min(begins), found[32] - max(ends), found[32] - found[0]])
        if tiles <= 32:
            places[" ".join(map(str, at))] += 1
    print(json.dumps({
        "broken": broken,
        "stamps_ns": times,
        "places": places.most_common(3),
        "addresses": [hex(x) for x in (
            kept["at"], kept["touched"].data_ptr(), here.data_ptr(), stamps.data_ptr())],
        "core": ctypes.CDLL(None).sched_getcpu(),
    }), flush=True)


tolerant("compile", compile_ahead)
__main__.Stopwatch.warm_up = at_waking
__main__.Stopwatch.lead = lead
'''


def order_of_steps() -> list[int]:
    """Return which step is whose turn; every round has an order of its own, the same for all."""
    chance = random.Random(1)
    rounds = [chance.sample(range(len(STEPS)), len(STEPS)) for _ in range(ROUNDS + WARM_UP)]
    return [step for each in rounds for step in each]


def source() -> bytes:
    """Return the file."""
    return f"STEPS = {STEPS!r}\nORDER = {order_of_steps()!r}\n{PROBE}".encode()
