import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.scale_layout import from_blocked, to_blocked

ROWS = [0, 1, 32, 127, 128, 129, 300]
DEPTHS = [16, 48, 64, 208, 272]
FILLER = 0x55


def byte_of(row: int, column: int, column_tiles: int) -> int:
    """The position of a scale in the blocked bytes, as the cuBLAS manual gives it."""
    tile = row // 128 * column_tiles + column // 4
    return tile * 512 + row % 32 * 16 + row % 128 // 32 * 4 + column % 4


def numbered(rows: int, columns: int, digit: int) -> torch.Tensor:
    """One of two digits, base 251, of the number of each scale: together they tell all apart."""
    number = torch.arange(rows * columns).view(rows, columns)
    return ((number // 251 if digit else number % 251) + 1).to(torch.uint8)


@pytest.mark.parametrize("digit", [0, 1])
@pytest.mark.parametrize("k", DEPTHS)
@pytest.mark.parametrize("rows", ROWS)
def test_every_scale_is_where_the_tensor_core_looks_for_it(rows, k, digit):
    columns, row_tiles, column_tiles = k // 16, -(-rows // 128), -(-k // 64)
    linear = numbered(rows, columns, digit)
    blocked = to_blocked(linear, FILLER)
    assert blocked.shape == (row_tiles, column_tiles, 32, 4, 4)
    assert blocked.is_contiguous()

    expected = [0] * blocked.numel()
    for row in range(row_tiles * 128):
        for column in range(columns):
            value = linear[row, column].item() if row < rows else FILLER
            expected[byte_of(row, column, column_tiles)] = value
    assert blocked.flatten().tolist() == expected
    assert torch.equal(from_blocked(blocked, rows, columns), linear)


@pytest.mark.parametrize("k", DEPTHS)
@pytest.mark.parametrize("rows", ROWS)
def test_reading_takes_every_byte_from_its_place(rows, k):
    """The other way round: random bytes everywhere, padding included."""
    columns, row_tiles, column_tiles = k // 16, -(-rows // 128), -(-k // 64)
    blocked = torch.randint(0, 256, (row_tiles, column_tiles, 32, 4, 4), dtype=torch.uint8)
    flat = blocked.flatten().tolist()
    expected = [[flat[byte_of(i, j, column_tiles)] for j in range(columns)] for i in range(rows)]
    linear = from_blocked(blocked, rows, columns)
    assert linear.shape == (rows, columns)
    assert linear.tolist() == expected


@given(
    rows=st.integers(0, 300),
    columns=st.integers(1, 20),
    filler=st.integers(0, 0x7F),
)
@settings(max_examples=30, deadline=None)
def test_padding_is_the_filler_in_rows_and_zero_in_columns(rows, columns, filler):
    linear = torch.full((rows, columns), 0x11, dtype=torch.uint8)
    blocked = to_blocked(linear, filler)
    padded_rows, padded_columns = blocked.shape[0] * 128, blocked.shape[1] * 4
    whole = from_blocked(blocked, padded_rows, padded_columns)
    assert (whole[:rows, :columns] == 0x11).all()
    assert (whole[rows:, :columns] == filler).all()
    assert (whole[:, columns:] == 0).all()
