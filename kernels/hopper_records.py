"""What a launch of the Hopper kernels is told, byte for byte as `kernels/hopper/gemm.cu` reads it.

Everything but addresses depends on shapes alone. So a `Launch` is made once for the shapes of a
call, and each call writes its addresses into it. Items are a table of their own, which the caller
brings to the device once; so are more groups than fit, for each call. Parameters are kept small:
with 6 and 14 KB for the two kernels, a call of 17 us took 21 where the code of both was cold.
"""

import ctypes
import struct
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from kernels.cuda_driver import MAP_BYTES
from kernels.hopper_plan import CHUNK, ROWS, UNIT, Plan
from kernels.problem import GroupShape

GROUPS: Final = 16
BLOCKS: Final = 160
SUM_FLOATS: Final = ROWS * 256
"""Sums that a block may leave: a tile of the widest width."""
THREADS: Final = 384
DECODE_THREADS: Final = 128
SHARED_BYTES: Final = 4 * 256 * 128 + 4 * ROWS * 144 + 2 * 8192 + 16 * 8
"""Slots, stages, staging and barriers."""
DECODE_SHARED_BYTES: Final = DECODE_THREADS // 8 * 4 * 144


class GroupRecord(ctypes.Structure):
    """A group; `b_map` describes packed B to the copy engine, boxes of 128 bytes by 128 rows."""

    _fields_ = (
        ("b_map", ctypes.c_uint8 * MAP_BYTES),
        ("a", ctypes.c_uint64),
        ("sfa", ctypes.c_uint64),
        ("sfb", ctypes.c_uint64),
        ("c", ctypes.c_uint64),
        ("image", ctypes.c_uint64),
        ("m", ctypes.c_int32),
        ("n", ctypes.c_int32),
        ("k", ctypes.c_int32),
        ("tile_rows", ctypes.c_int32),
        ("width", ctypes.c_int32),
        ("first_unit", ctypes.c_int32),
    )


class ItemRecord(ctypes.Structure):
    """A range of a tile's chunks."""

    _fields_ = tuple(
        (name, ctypes.c_uint16)
        for name in (
            "group",
            "row_tile",
            "column_tile",
            "first_chunk",
            "last_chunk",
            "sharers",
        )
    )


class GroupsRecord(ctypes.Structure):
    """All groups, what the kernel that decodes A is told."""

    _fields_ = (
        ("groups", GroupRecord * GROUPS),
        ("more_groups", ctypes.c_uint64),
        ("padding", ctypes.c_uint8 * 56),
    )


class ProblemRecord(ctypes.Structure):
    """The parameter of the kernel that does the rest."""

    _fields_ = (
        ("table", GroupsRecord),
        ("first_items", ctypes.c_int32 * (BLOCKS + 1)),
        ("items", ctypes.c_uint64),
        ("padding", ctypes.c_uint8 * 48),
    )


_GROUP_BYTES: Final = ctypes.sizeof(GroupRecord)
_ADDRESSES: Final = struct.Struct("=5Q")


class Launch:
    """The records of one plan."""

    def __init__(self, shapes: Sequence[GroupShape], plan: Plan) -> None:
        """Fill in all that depends on shapes, but for what describes packed B."""
        self.problem = ProblemRecord()
        self.groups = self.problem.table.groups
        if len(shapes) > GROUPS:
            self.groups = (GroupRecord * len(shapes))()
        self.units, self.image_bytes, self.chunks = 0, 0, 0
        self._image_offsets: list[int] = []
        for record, shape, tiling in zip(self.groups, shapes, plan.tilings, strict=False):
            chunks = -(-shape.k // CHUNK)
            record.m, record.n, record.k = shape
            record.tile_rows, record.width = tiling.rows, tiling.width
            record.first_unit = self.units
            self._image_offsets.append(self.image_bytes)
            self.units += -(-shape.m // UNIT)
            self.image_bytes += tiling.tiles * tiling.rows * chunks * CHUNK * 2
            self.chunks = max(self.chunks, chunks)
        self.blocks = len(plan.blocks)
        self._fill_items(plan)

    @property
    def has_more_groups(self) -> bool:
        """Whether groups are a table beside the parameter."""
        return len(self._image_offsets) > GROUPS

    @property
    def map_places(self) -> range:
        """Where in host memory the description of each group's B is."""
        start = ctypes.addressof(self.groups)
        return range(start, start + len(self._image_offsets) * _GROUP_BYTES, _GROUP_BYTES)

    def address(self, addresses: Sequence[Sequence[int]], images: int) -> None:
        """Write the addresses `a, b, sfa, sfb, c` of every group, b aside, and of images of A."""
        at = GroupRecord.a.offset
        for (a, _, sfa, sfb, c), offset in zip(addresses, self._image_offsets, strict=True):
            _ADDRESSES.pack_into(self.groups, at, a, sfa, sfb, c, images + offset)
            at += _GROUP_BYTES

    def _fill_items(self, plan: Plan) -> None:
        items = [item for block in plan.blocks for item in block]
        self.items = (ItemRecord * len(items))(*(ItemRecord(*item) for item in items))
        """What blocks do, one block after the other; they read it in device memory."""
        counts = accumulate(len(block) for block in plan.blocks)
        for index, count in enumerate(counts, start=1):
            self.problem.first_items[index] = count
