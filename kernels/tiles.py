"""Which tile to use, apart from the kernels. Standard library only."""

from collections.abc import Sequence
from dataclasses import dataclass

from kernels.problem import GroupShape


@dataclass(frozen=True, slots=True)
class TileConfig:
    """Extents of one program's tile in logical elements, and how the compiler shall run it."""

    block_m: int
    block_n: int
    block_k: int
    warps: int
    stages: int
    specialize: bool = False
    """Whether loads, products and stores run in warps of their own."""


def interpreted_tile(shapes: Sequence[GroupShape], least: tuple[int, int, int]) -> TileConfig:
    """Return a tile for the interpreter, no smaller than `least` in m, n and k.

    It pays milliseconds for every program and step, most of them for what a tile holds beyond the
    group: so a tile is as large as a usual group, and up to what still fits a cache.
    """
    _, n, k = (max(extents) for extents in zip(*shapes, strict=True))
    usual_m = sum(shape.m for shape in shapes) // len(shapes)
    block_m, block_n, block_k = (
        _power_of_two(extent, low, 1024) for extent, low in zip((usual_m, n, k), least, strict=True)
    )
    return TileConfig(block_m, block_n, block_k, warps=4, stages=1)


def portable_tile(shapes: Sequence[GroupShape], interpreting: bool) -> TileConfig:
    """Return the tile of the portable kernel."""
    if interpreting:
        return interpreted_tile(shapes, (16, 16, 32))
    m = max(shape.m for shape in shapes)
    # The widest tile that compiles without spilling from sm_80 to sm_120, packed rows of 8 bytes
    # included. Two programs share a multiprocessor.
    return TileConfig(16 if m <= 16 else 64, 128, 64, warps=4, stages=3)


def dual_tile(shape: GroupShape, interpreting: bool) -> TileConfig:
    """Return the tile of the dual kernel: two accumulators take the room of one twice as wide."""
    if interpreting:
        return interpreted_tile([shape], (16, 16, 32))
    return TileConfig(16 if shape.m <= 16 else 64, 64, 64, warps=4, stages=3)


def gemv_tile(m: int, k: int, interpreting: bool) -> TileConfig:
    """Return the tile of the GEMV kernel; `block_n` is 1."""
    if interpreting:
        return TileConfig(_power_of_two(m, 1, 256), 1, _power_of_two(k, 16, 2048), 4, 1)
    # A row of a tile is 256 bytes; its sums take 32 registers of a thread.
    return TileConfig(16, 1, 512, warps=4, stages=3)


SCALE_TILE = 128, 128, 64
"""What a tile of scales has in rows of A, of B, and along k."""


def dot_scaled_tile(capability: tuple[int, int], aligned: bool) -> TileConfig:
    """Return the tile of the dot_scaled kernel; a tile of scales has 128 rows, so it has too.

    All of them were compiled and none spills; larger ones exceed the 512 columns of tensor memory
    (sm_100) or 99 KB of shared memory (sm_120). `aligned` says that packed rows come by descriptor;
    loading by pointer takes registers for addresses.
    """
    if not aligned:
        return TileConfig(128, 128, 64, warps=8, stages=3)
    if capability >= (12, 0):
        return TileConfig(128, 128, 128, warps=8, stages=3)
    return TileConfig(128, 128, 256, warps=4, stages=3, specialize=True)


def _power_of_two(value: int, least: int, most: int) -> int:
    """Return the smallest power of two that is at least `value`, within `least..most`."""
    return min(max(least, 1 << (value - 1).bit_length()), most)
