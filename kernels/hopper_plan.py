"""Who computes what on a Hopper device, by measured costs. Standard library only.

A tile is 128 rows of B by a width of A, and its k is cut into chunks of 256. A kernel is compiled
for a few widths, more than that make the assembler give up overlapping products; so a group's m is
cut into equal tiles and their rows are rounded up to one of the widths of a set.

Every block gets a list of items, each a range of a tile's chunks. There are two ways to share them
out. *Whole* tiles are dealt longest first to the block with the least to do. Or all tiles stand in
one sequence that is *cut* into equal times: a tile that is cut is finished by the block with its
last chunk, and the others leave it float32 sums, which costs both sides time. A block does first
what it leaves to the next one and last what it finishes, and it waits only for blocks before it.
"""

import heapq
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

from kernels.problem import GroupShape

ROWS = 128
UNIT = 16
"""Rows of A: widths are multiples of it."""
CHUNK = 256
WIDTH_SETS = (
    (16, 32, 64, 128),
    (16, 48, 96, 160),
    (16, 64, 128, 256),
    (32, 96, 160, 256),
    (48, 80, 176, 208),
    (64, 96, 144, 224),
    (80, 112, 144, 192),
    (80, 128, 176, 256),
    (96, 112),
    (128,),
)
"""Each of them compiles without serialised products and without spills."""

_CHUNK_NS = ((48, 817), (64, 880), (80, 1000), (96, 1121), (128, 1391), (176, 1776), (256, 2519))
"""Time of a chunk by width, measured on an H200; a narrower one takes as long as the first."""
_TILE_NS = 1500
"""What a tile takes besides its chunks."""
_CUT_NS = 2200
"""What a cut costs each of its two blocks."""
_MOST_DEALT = 64
"""Tiles a block, from which on they are not dealt one by one: the last one matters little."""


class Tiling(NamedTuple):
    """How the rows of a group of A are cut."""

    rows: int
    """Of a tile; a multiple of 16."""
    width: int
    """Of the products."""
    tiles: int


class Item(NamedTuple):
    """A range of a tile's chunks, the end exclusive."""

    group: int
    row_tile: int
    column_tile: int
    first_chunk: int
    last_chunk: int
    sharers: int = 0
    """Blocks before this one that leave sums of the tile."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How one call covers all groups."""

    widths: tuple[int, ...]
    """The set that the kernel is compiled for."""
    tilings: tuple[Tiling, ...]
    """One entry a group."""
    blocks: tuple[tuple[Item, ...], ...]
    predicted_ns: float

    @property
    def cuts(self) -> int:
        """Tiles' parts whose sums are left to another block."""
        return sum(item.sharers for block in self.blocks for item in block)


def make_plan(shapes: Sequence[GroupShape], blocks: int) -> Plan:
    """Return the fastest plan for at most so many blocks; every shape has rows."""
    return min(candidates(shapes, blocks), key=lambda plan: plan.predicted_ns)


def candidates(shapes: Sequence[GroupShape], blocks: int) -> Iterator[Plan]:
    """Yield plans for every set of widths, every widest one of a set, and both ways."""
    seen = set()
    for widths in WIDTH_SETS:
        for widest in widths:
            tilings = tuple(cut_rows(shape.m, widths, widest) for shape in shapes)
            if tilings in seen:
                continue
            seen.add(tilings)
            tiles = _Tiles(shapes, widths, tilings)
            if len(tiles.costs_ns) > _MOST_DEALT * blocks and widest != max(widths):
                continue
            yield from tiles.plans(blocks)


def cut_rows(m: int, widths: Sequence[int], widest: int) -> Tiling:
    """Cut `m` rows into as few and as equal tiles of at most `widest` rows as there can be."""
    units = -(-m // UNIT)
    tiles = -(-units // (widest // UNIT))
    rows = -(-units // tiles) * UNIT
    return Tiling(rows, min(width for width in widths if width >= rows), -(-m // rows))


def chunk_ns(width: int) -> float:
    """Return the time of a chunk of a tile of this width."""
    for (narrow, least), (wide, most) in pairwise(_CHUNK_NS):
        if width <= wide:
            return least + (most - least) * max(0, width - narrow) / (wide - narrow)
    raise ValueError(f"no tile is {width} wide")


class _Tiles:
    """The sequence of all groups' tiles; row tiles of the same columns of C are neighbours."""

    def __init__(
        self, shapes: Sequence[GroupShape], widths: tuple[int, ...], tilings: tuple[Tiling, ...]
    ) -> None:
        self.widths = widths
        self.tilings = tilings
        self.chunks: list[int] = []
        self.firsts: list[int] = []
        self.costs_ns: list[float] = []
        for shape, tiling in zip(shapes, tilings, strict=True):
            chunks = -(-shape.k // CHUNK)
            count = tiling.tiles * -(-shape.n // ROWS)
            self.firsts.append(len(self.costs_ns))
            self.chunks.append(chunks)
            self.costs_ns += [chunks * chunk_ns(tiling.width) + _TILE_NS] * count

    def plans(self, blocks: int) -> Iterator[Plan]:
        """Yield the plans of both ways."""
        yield self._cut(blocks)
        if len(self.costs_ns) <= _MOST_DEALT * blocks:
            yield self._whole(blocks)

    def _whole(self, blocks: int) -> Plan:
        order = sorted(range(len(self.costs_ns)), key=lambda tile: -self.costs_ns[tile])
        heap = [(0.0, block) for block in range(min(blocks, len(order)))]
        dealt: list[list[Item]] = [[] for _ in heap]
        for tile in order:
            busy_ns, block = heap[0]
            heapq.heapreplace(heap, (busy_ns + self.costs_ns[tile], block))
            dealt[block].append(self._item(tile, 0, None))
        return self._plan(dealt, max(busy_ns for busy_ns, _ in heap))

    def _cut(self, blocks: int) -> Plan:
        starts_ns = [0.0, *accumulate(self.costs_ns)]
        places = [self._place(starts_ns, starts_ns[-1] * block / blocks) for block in range(blocks)]
        # Several blocks may come to the same place: all but one of them have nothing to do.
        places = list(dict.fromkeys([*places, (len(self.costs_ns), 0)]))
        cut, longest_ns = [], 0.0
        for block, (start, end) in enumerate(pairwise(places)):
            cut.append(self._range(places, block))
            times_ns = [
                starts_ns[tile] + (chunk and chunk * self._chunk_ns(tile))
                for tile, chunk in (start, end)
            ]
            cuts = (start[1] > 0) + (end[1] > 0)
            longest_ns = max(longest_ns, times_ns[1] - times_ns[0] + cuts * _CUT_NS)
        return self._plan(cut, longest_ns)

    def _place(self, starts_ns: Sequence[float], time_ns: float) -> tuple[int, int]:
        """Return the tile and the chunk before which a time falls."""
        tile = bisect_right(starts_ns, time_ns) - 1
        chunk = round((time_ns - starts_ns[tile]) / self._chunk_ns(tile))
        return (tile, chunk) if chunk < self.chunks[self._group(tile)] else (tile + 1, 0)

    def _range(self, places: Sequence[tuple[int, int]], block: int) -> list[Item]:
        """Return the items from one place to the next, the last one first."""
        (first, first_chunk), (last, last_chunk) = places[block : block + 2]
        items = []
        for tile in range(last if last_chunk else last - 1, first - 1, -1):
            begin = first_chunk if tile == first else 0
            end = last_chunk if tile == last else None
            sharers = 0
            if begin and end is None:
                while places[block - sharers] > (tile, 0):
                    sharers += 1
            items.append(self._item(tile, begin, end, sharers))
        return items

    def _item(self, tile: int, begin: int, end: int | None, sharers: int = 0) -> Item:
        group = self._group(tile)
        column_tile, row_tile = divmod(tile - self.firsts[group], self.tilings[group].tiles)
        last = self.chunks[group] if end is None else end
        return Item(group, row_tile, column_tile, begin, last, sharers)

    def _group(self, tile: int) -> int:
        return bisect_right(self.firsts, tile) - 1

    def _chunk_ns(self, tile: int) -> float:
        return chunk_ns(self.tilings[self._group(tile)].width)

    def _plan(self, blocks: Sequence[Sequence[Item]], longest_ns: float) -> Plan:
        return Plan(self.widths, self.tilings, tuple(map(tuple, blocks)), longest_ns)
