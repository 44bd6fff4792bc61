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
from itertools import accumulate
from typing import NamedTuple

from kernels.hopper_costs import chunk_ns, collect_ns, leave_ns, tile_ns
from kernels.problem import GroupShape

ROWS = 128
UNIT = 16
"""Rows of A: widths are multiples of it."""
CHUNK = 256
WIDTH_SETS = (
    (16, 32, 64, 128),
    (16, 48, 96, 160),
    (32, 96, 160, 256),
    (48, 80, 176, 208),
    (64, 96, 144, 224),
    (80, 112, 144, 192),
    (80, 128, 176, 256),
    (96, 112),
    (128,),
)
"""Each of them compiles without serialised products and without spills."""

_ROUNDS = 10
"""Halvings of the interval in which the time of a cut plan is sought."""
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
    best: Plan | None = None
    for tiles in sorted(_tilings(shapes, blocks), key=lambda tiles: tiles.starts_ns[-1]):
        if best and tiles.starts_ns[-1] >= best.predicted_ns * blocks:
            break
        best = min([*tiles.plans(blocks), *([best] if best else [])], key=_predicted_ns)
    assert best is not None
    return best


def candidates(shapes: Sequence[GroupShape], blocks: int) -> Iterator[Plan]:
    """Yield plans for every set of widths, every widest one of a set, and both ways."""
    for tiles in _tilings(shapes, blocks):
        yield from tiles.plans(blocks)


def _predicted_ns(plan: Plan) -> float:
    return plan.predicted_ns


def _tilings(shapes: Sequence[GroupShape], blocks: int) -> "Iterator[_Tiles]":
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
            yield tiles


def cut_rows(m: int, widths: Sequence[int], widest: int) -> Tiling:
    """Cut `m` rows into as few and as equal tiles of at most `widest` rows as there can be."""
    units = -(-m // UNIT)
    tiles = -(-units // (widest // UNIT))
    rows = -(-units // tiles) * UNIT
    return Tiling(rows, min(width for width in widths if width >= rows), -(-m // rows))


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
            chunks, width = -(-shape.k // CHUNK), tiling.width
            count = tiling.tiles * -(-shape.n // ROWS)
            self.firsts.append(len(self.costs_ns))
            self.chunks.append(chunks)
            self.costs_ns += [chunks * chunk_ns(width) + tile_ns(width)] * count

        self.starts_ns = [0.0, *accumulate(self.costs_ns)]

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
        """Cut into times as equal as can be, what cuts cost included."""
        least_ns, most_ns = self.starts_ns[-1] / blocks, 2 * self.starts_ns[-1]
        places = self._fill(blocks, most_ns)
        most_ns = min(most_ns, least_ns + 2 * max(self.costs_ns))
        for _ in range(_ROUNDS):
            middle_ns = (least_ns + most_ns) / 2
            filled = self._fill(blocks, middle_ns)
            if filled[-1] == (len(self.costs_ns), 0):
                places, most_ns = filled, middle_ns
            else:
                least_ns = middle_ns
        # Several blocks may come to the same place: all but one of them have nothing to do.
        places = list(dict.fromkeys(places))
        cut = [self._range(places, block) for block in range(len(places) - 1)]
        return self._plan(cut, most_ns)

    def _fill(self, blocks: int, time_ns: float) -> list[tuple[int, int]]:
        """Return where each block starts and the last one ends if each takes at most this time."""
        tile, chunk = 0, 0
        places = [(tile, chunk)]
        for _ in range(blocks):
            left_ns = time_ns
            if chunk:
                left_ns -= self._rest_ns(tile, chunk)
                if left_ns >= 0:
                    tile, chunk = tile + 1, 0
                else:
                    chunk = self._until(tile, chunk, time_ns, time_ns)
            if not chunk:
                end_ns = self.starts_ns[tile] + left_ns
                tile = bisect_right(self.starts_ns, end_ns) - 1
                if tile < len(self.costs_ns):
                    chunk = self._until(tile, 0, end_ns - self.starts_ns[tile], time_ns)
            places.append((tile, chunk))
        return places

    def _rest_ns(self, tile: int, chunk: int) -> float:
        """Return the time to finish a tile that another block began."""
        width = self.tilings[self._group(tile)].width
        return self.costs_ns[tile] - chunk * chunk_ns(width) + collect_ns(width)

    def _until(self, tile: int, chunk: int, left_ns: float, time_ns: float) -> int:
        """Return the chunk to which a block comes in the time left, `chunk` if it does not pay.

        What it leaves must be there early enough for another block to collect it in time.
        """
        group = self._group(tile)
        width = self.tilings[group].width
        add_ns = collect_ns(width)
        most_ns = min(left_ns, time_ns - add_ns) - leave_ns(width)
        count = min(int(most_ns // chunk_ns(width)), self.chunks[group] - 1 - chunk)
        return chunk + count if count * chunk_ns(width) > add_ns else chunk

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

    def _plan(self, blocks: Sequence[Sequence[Item]], longest_ns: float) -> Plan:
        return Plan(self.widths, self.tilings, tuple(map(tuple, blocks)), longest_ns)
