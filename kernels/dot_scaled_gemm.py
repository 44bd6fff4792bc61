"""Grouped NVFP4 GEMM on tensor cores that read block scales: sm_100 and up, and the interpreter.

    C[g] = (A[g] * SFA[g]) @ (B[g] * SFB[g]).T          for every group g

Shapes (m, n, k in logical elements of a group; any m >= 0, n >= 1, k a multiple of 16)
    a               float4_e2m1fn_x2  [m, k/2, 1]   E2M1 pairs, the low nibble is the even k
    b               float4_e2m1fn_x2  [n, k/2, 1]   as a
    c               float16           [m, n, 1]     written in full; an empty group writes nothing
    sfa_reordered   float8_e4m3fn     blocked       128 x 4 tiles of 512 bytes
    sfb_reordered   float8_e4m3fn     blocked       as sfa_reordered, with n for m
    Columns of a scale tile past k/16 must be zero; its rows past the operand may hold anything.
    Every tensor starts at a multiple of 16 bytes.

Numerics
    Products are exact in float32; sums run in k order of instructions, whose inner order is the
    hardware's. c is rounded once, to nearest even. The hardware takes scales as unsigned E4M3.
    Error against the reference: compare.py.

Errors
    ValueError         a shape, dtype, stride or alignment above is violated (on the host, before
                       any launch)

Source
    Scale layout: cuBLAS manual, 1D block scaling factors layout. Instruction: PTX ISA, tcgen05.mma
    and mma.sync with kind::mxf4nvf4. Descriptors: PTX ISA, tensor maps (16-byte rows).
"""

from collections.abc import Sequence
from functools import partial

import torch
import triton
import triton.language as tl

from kernels.group_table import GroupTable, read_groups
from kernels.layout import SubmissionData
from kernels.problem import GroupShape
from kernels.tiles import SCALE_TILE, TileConfig, dot_scaled_tile, interpreted_tile

MOST_UNROLLED_GROUPS = 16
"""Unrolling compiles in seconds up to here (26 s at 32 groups, 68 s at 64)."""
ALIGN_BYTES = 16
"""Of addresses and strides of a descriptor."""


@triton.jit
def _scale_descriptor(base, rows, k, BLOCK_ROWS: tl.constexpr, BLOCK_K: tl.constexpr):
    """Describe blocked scales; a tile of 512 bytes is two rows of 256, the most a box can have."""
    tiles_k = (k + 63) // 64
    row_stride = tiles_k.to(tl.int64) * 512
    return tl.make_tensor_descriptor(
        base,
        [1, (rows + 127) // 128, tiles_k, 2, 256],
        [row_stride, row_stride, 512, 256, 1],
        [1, BLOCK_ROWS // 128, BLOCK_K // 64, 2, 256],
    )


@triton.jit
def _load_scales(descriptor, first_row, first_k, BLOCK_ROWS: tl.constexpr, BLOCK_K: tl.constexpr):
    blocked = descriptor.load([0, first_row // 128, first_k // 64, 0, 0])
    tiles = blocked.reshape(BLOCK_ROWS // 128, BLOCK_K // 64, 32, 4, 4)
    return tiles.trans(0, 3, 2, 1, 4).reshape(BLOCK_ROWS, BLOCK_K // 16)


@triton.jit
def _read_group(table, group, GROUPS: tl.constexpr):
    entry = table + group
    a = tl.load(entry).to(tl.pointer_type(tl.uint8))
    b = tl.load(entry + GROUPS).to(tl.pointer_type(tl.uint8))
    # As float8, not as bytes: only then do scales go to tensor memory without passing registers.
    sfa = tl.load(entry + 2 * GROUPS).to(tl.pointer_type(tl.float8e4nv))
    sfb = tl.load(entry + 3 * GROUPS).to(tl.pointer_type(tl.float8e4nv))
    c = tl.load(entry + 4 * GROUPS).to(tl.pointer_type(tl.float16))
    m = tl.load(entry + 5 * GROUPS).to(tl.int32)
    n = tl.load(entry + 6 * GROUPS).to(tl.int32)
    k = tl.load(entry + 7 * GROUPS).to(tl.int32)
    first_tile = tl.load(entry + 8 * GROUPS).to(tl.int32)
    return a, b, sfa, sfb, c, m, n, k, first_tile


@triton.jit
def _unrolled_kernel(
    table,
    GROUPS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    STAGES: tl.constexpr,
    SPECIALIZE: tl.constexpr,
):
    """Run one persistent loop a group, so that descriptors are made once a group and program."""
    programs = tl.num_programs(0)
    for group in tl.static_range(GROUPS):
        a, b, sfa, sfb, c, m, n, k, first_tile = _read_group(table, group, GROUPS)
        packed_stride = (k // 2).to(tl.int64)
        a_desc = tl.make_tensor_descriptor(
            a, [m, k // 2], [packed_stride, 1], [BLOCK_M, BLOCK_K // 2]
        )
        b_desc = tl.make_tensor_descriptor(
            b, [n, k // 2], [packed_stride, 1], [BLOCK_N, BLOCK_K // 2]
        )
        c_desc = tl.make_tensor_descriptor(c, [m, n], [n.to(tl.int64), 1], [BLOCK_M, BLOCK_N])
        sfa_desc = _scale_descriptor(sfa, m, k, BLOCK_M, BLOCK_K)
        sfb_desc = _scale_descriptor(sfb, n, k, BLOCK_N, BLOCK_K)
        tiles_m = (m + BLOCK_M - 1) // BLOCK_M
        tiles = tiles_m * ((n + BLOCK_N - 1) // BLOCK_N)
        # Tiles are dealt out in turn, and a group begins where the last one ended.
        start = (tl.program_id(0) + programs - first_tile % programs) % programs
        for tile in tl.range(
            start, tiles, programs, warp_specialize=SPECIALIZE, flatten=SPECIALIZE
        ):
            first_row = tile % tiles_m * BLOCK_M
            first_col = tile // tiles_m * BLOCK_N
            acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
            for step in tl.range(0, (k + BLOCK_K - 1) // BLOCK_K, num_stages=STAGES):
                first_k = step * BLOCK_K
                first_byte = step * (BLOCK_K // 2)
                pairs_a = a_desc.load([first_row, first_byte])  # [BLOCK_M, BLOCK_K // 2]
                pairs_b = b_desc.load([first_col, first_byte])  # [BLOCK_N, BLOCK_K // 2]
                scale_a = _load_scales(sfa_desc, first_row, first_k, BLOCK_M, BLOCK_K)
                scale_b = _load_scales(sfb_desc, first_col, first_k, BLOCK_N, BLOCK_K)
                acc = tl.dot_scaled(pairs_a, scale_a, "e2m1", pairs_b.T, scale_b, "e2m1", acc)
            c_desc.store([first_row, first_col], acc.to(tl.float16))


@triton.jit
def _load_pairs(
    base, first_row, rows, k, first_byte, BLOCK_ROWS: tl.constexpr, BLOCK_K: tl.constexpr
):
    """Load `[BLOCK_ROWS, BLOCK_K // 2]` packed bytes by pointer; what lies past k is zero."""
    row_bytes = k // 16 * 8  # k / 2, in a form that shows the compiler what divides it
    # What lies past the last row is computed from the last row and never stored.
    row = tl.minimum(tl.arange(0, BLOCK_ROWS), rows - 1 - first_row)
    byte = first_byte + tl.arange(0, BLOCK_K // 2)
    first = tl.multiple_of(base, 16) + first_row.to(tl.int64) * row_bytes
    at = first + (row[:, None] * row_bytes + byte[None, :])
    return tl.load(at, mask=(byte < row_bytes)[None, :], other=0)


@triton.jit
def _persistent_kernel(
    table,
    tiles,
    GROUPS: tl.constexpr,
    GROUPS_POWER: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    STAGES: tl.constexpr,
    ALIGNED: tl.constexpr,
):
    """Run one loop over the tiles of all groups; packed rows by descriptor where ALIGNED."""
    slot = tl.arange(0, GROUPS_POWER)
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0)):
        # Loaded again for every tile: 1024 of them in registers for the whole loop would spill.
        first_tiles = tl.load(table + 8 * GROUPS + slot, mask=slot < GROUPS, other=1 << 62)
        group = tl.sum((first_tiles <= tile).to(tl.int32), axis=0) - 1
        a, b, sfa, sfb, c, m, n, k, first_tile = _read_group(table, group, GROUPS)
        tiles_m = (m + BLOCK_M - 1) // BLOCK_M
        first_row = (tile - first_tile) % tiles_m * BLOCK_M
        first_col = (tile - first_tile) // tiles_m * BLOCK_N
        sfa_desc = _scale_descriptor(sfa, m, k, BLOCK_M, BLOCK_K)
        sfb_desc = _scale_descriptor(sfb, n, k, BLOCK_N, BLOCK_K)
        if ALIGNED:
            stride = (k // 2).to(tl.int64)
            a_desc = tl.make_tensor_descriptor(a, [m, k // 2], [stride, 1], [BLOCK_M, BLOCK_K // 2])
            b_desc = tl.make_tensor_descriptor(b, [n, k // 2], [stride, 1], [BLOCK_N, BLOCK_K // 2])
            c_desc = tl.make_tensor_descriptor(c, [m, n], [n.to(tl.int64), 1], [BLOCK_M, BLOCK_N])
        acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for step in tl.range(0, (k + BLOCK_K - 1) // BLOCK_K, num_stages=STAGES):
            first_k = step * BLOCK_K
            first_byte = step * (BLOCK_K // 2)
            if ALIGNED:
                pairs_a = a_desc.load([first_row, first_byte])
                pairs_b = b_desc.load([first_col, first_byte])
            else:
                pairs_a = _load_pairs(a, first_row, m, k, first_byte, BLOCK_M, BLOCK_K)
                pairs_b = _load_pairs(b, first_col, n, k, first_byte, BLOCK_N, BLOCK_K)
            scale_a = _load_scales(sfa_desc, first_row, first_k, BLOCK_M, BLOCK_K)
            scale_b = _load_scales(sfb_desc, first_col, first_k, BLOCK_N, BLOCK_K)
            acc = tl.dot_scaled(pairs_a, scale_a, "e2m1", pairs_b.T, scale_b, "e2m1", acc)
        if ALIGNED:
            c_desc.store([first_row, first_col], acc.to(tl.float16))
        else:
            row = tl.arange(0, BLOCK_M)
            col = tl.arange(0, BLOCK_N)
            at = c + (first_row.to(tl.int64) * n + first_col) + (row[:, None] * n + col[None, :])
            in_group = (row < m - first_row)[:, None] & (col < n - first_col)[None, :]
            tl.store(at, acc.to(tl.float16), mask=in_group)


def applies(groups: Sequence[GroupShape], capability: tuple[int, int]) -> str | None:
    """Return why the kernel cannot run these groups on such a device, None where it can."""
    if capability < (10, 0):
        return "needs compute capability 10.0 or higher: tensor cores that read block scales"
    return None


def launch(groups: GroupTable, tile: TileConfig, aligned: bool, programs: int) -> None:
    """Run all groups in one launch; `aligned` says that every row starts at 16 bytes."""
    triton.set_allocator(partial(_allocate, groups.device))
    count = len(groups.shapes)
    tiles = groups.tiles(tile)
    programs = min(programs, tiles)
    constants = {
        "GROUPS": count,
        "BLOCK_M": tile.block_m,
        "BLOCK_N": tile.block_n,
        "BLOCK_K": tile.block_k,
        "STAGES": tile.stages,
        "num_warps": tile.warps,
    }
    table = groups.upload(tile)
    if aligned and count <= MOST_UNROLLED_GROUPS:
        _unrolled_kernel[(programs,)](table, SPECIALIZE=tile.specialize, **constants)
    else:
        _persistent_kernel[(programs,)](
            table, tiles, GROUPS_POWER=triton.next_power_of_2(count), ALIGNED=aligned, **constants
        )


def custom_kernel(data: SubmissionData) -> list[torch.Tensor]:
    """Compute every group into its `c` and return these tensors in order.

    Raises:
        ValueError: an operand is not as the module's docstring says.

    """
    groups = read_groups(data)
    if any(address % ALIGN_BYTES for addresses in groups.addresses for address in addresses):
        raise ValueError(f"every tensor must start at a multiple of {ALIGN_BYTES} bytes")
    if groups.shapes:
        aligned = all(_rows_aligned(shape) for shape in groups.shapes)
        if triton.knobs.runtime.interpret:
            tile = interpreted_tile(groups.shapes, SCALE_TILE)
        else:
            tile = dot_scaled_tile(torch.cuda.get_device_capability(groups.device), aligned)
        launch(groups, tile, aligned, _programs(groups.device))
    return [c for _, _, c in data[0]]


def _rows_aligned(shape: GroupShape) -> bool:
    """Tell whether packed rows and rows of c start at multiples of 16 bytes."""
    return shape.k // 2 % ALIGN_BYTES == 0 and shape.n * 2 % ALIGN_BYTES == 0


def _programs(device: torch.device) -> int:
    """Return one program a multiprocessor; the interpreter runs them one after another."""
    if triton.knobs.runtime.interpret:
        return 1
    return torch.cuda.get_device_properties(device).multi_processor_count


def _allocate(device: torch.device, size: int, alignment: int, stream: int | None) -> torch.Tensor:
    """Return memory for the descriptors that programs make."""
    return torch.empty(size, dtype=torch.int8, device=device)
