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


def portable_tile(shapes: Sequence[GroupShape], interpreting: bool) -> TileConfig:
    """Return the tile of the portable kernel.

    The interpreter pays milliseconds for every program, most of them for what the tile holds beyond
    the group: there a tile is as large as a usual group.
    """
    m, n, k = (max(extents) for extents in zip(*shapes, strict=True))
    if interpreting:
        usual_m = sum(shape.m for shape in shapes) // len(shapes)
        return TileConfig(
            _power_of_two(usual_m, 16, 256),
            _power_of_two(n, 16, 256),
            _power_of_two(k, 32, 256),
            warps=4,
            stages=1,
        )
    # 99 KB of shared memory (sm_86, sm_89, sm_120) hold two decoded stages of the wider tile.
    return TileConfig(_power_of_two(m, 16, 128), 128, 128, warps=8, stages=3)


def _power_of_two(value: int, least: int, most: int) -> int:
    """Return the smallest power of two that is at least `value`, within `least..most`."""
    return min(max(least, 1 << (value - 1).bit_length()), most)
