"""The two layouts of block scales: linear `[rows, k/16]` and blocked, as the tensor core reads it.

Blocked scales are tiles of 128 rows by 4 scale columns, 512 bytes each. Inside a tile row `i` and
column `j` sit at byte `(i % 32) * 16 + (i // 32) * 4 + j`: four rows that are 32 apart share 16
bytes (cuBLAS manual, "1D block scaling factors layout"). Tiles of one row of tiles are adjacent.

Columns past k/16 are always 0x00: a NaN there would reach every output through 0 x NaN. Rows past
the operand are unspecified; nothing may depend on them.
"""

from torch import Tensor

from kernels.nvfp4 import E4M3_ONE

TILE_ROWS = 128
TILE_COLUMNS = 4
_LANES = 32
"""Rows of a tile that are consecutive in memory."""


def to_blocked(linear: Tensor, padding_row_byte: int = E4M3_ONE) -> Tensor:
    """Return uint8 [ceil(rows/128), ceil(columns/4), 32, 4, 4] of linear uint8 [rows, columns].

    `columns` is k/16. Rows that fill up the last tile are `padding_row_byte` where they have a
    column.
    """
    rows, columns = linear.shape
    row_tiles, column_tiles = -(-rows // TILE_ROWS), -(-columns // TILE_COLUMNS)
    padded = linear.new_zeros(row_tiles * TILE_ROWS, column_tiles * TILE_COLUMNS)
    padded[:rows, :columns] = linear
    padded[rows:, :columns] = padding_row_byte
    tiles = padded.view(row_tiles, TILE_ROWS // _LANES, _LANES, column_tiles, TILE_COLUMNS)
    return tiles.permute(0, 3, 2, 1, 4).contiguous()


def from_blocked(blocked: Tensor, rows: int, columns: int) -> Tensor:
    """Return linear uint8 [rows, columns] of blocked [row tiles, column tiles, 32, 4, 4]."""
    row_tiles, column_tiles = blocked.shape[:2]
    padded = blocked.permute(0, 3, 2, 1, 4).reshape(
        row_tiles * TILE_ROWS, column_tiles * TILE_COLUMNS
    )
    return padded[:rows, :columns].contiguous()
