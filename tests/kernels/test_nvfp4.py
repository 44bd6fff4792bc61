"""The formats are small: every code, every scale byte, every tie."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernels.nvfp4 import (
    decode_e2m1,
    decode_e4m3,
    dequantize,
    encode_e2m1,
    encode_e4m3,
    pack,
    unpack,
)

ALL_BYTES = torch.arange(256).to(torch.uint8)
ALL_CODES = torch.arange(16).to(torch.uint8)
E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0]
HARDWARE_E4M3 = ALL_BYTES.view(torch.float8_e4m3fn).float()


def same_values(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Equal as bits, but for NaN, which has many."""
    one, other = one.double(), other.double()
    equal = (one == other) & (one.signbit() == other.signbit())
    return bool((equal | (one.isnan() & other.isnan())).all())


def test_every_byte_decodes_to_two_elements_low_nibble_first():
    expected = torch.tensor([[E2M1[byte & 15], E2M1[byte >> 4]] for byte in range(256)])
    assert same_values(decode_e2m1(ALL_BYTES.view(256, 1)), expected)
    assert same_values(decode_e2m1(ALL_BYTES), expected.flatten())


def test_every_scale_byte_decodes_like_the_hardware_type():
    assert same_values(decode_e4m3(ALL_BYTES), HARDWARE_E4M3)
    assert decode_e4m3(ALL_BYTES).isnan().nonzero().flatten().tolist() == [0x7F, 0xFF]
    assert decode_e4m3(ALL_BYTES)[[0x01, 0x38, 0x7E]].tolist() == [2.0**-9, 1.0, 448.0]


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str
)
def test_every_code_times_every_scale_is_exact(dtype):
    """16 rows, one a code; one block of k for each of the 256 scale bytes."""
    packed = (ALL_CODES << 4 | ALL_CODES).view(16, 1).expand(16, 256 * 8)
    scales = ALL_BYTES.expand(16, 256)
    elements = dequantize(packed, scales, dtype)
    assert elements.dtype == dtype
    exact = torch.tensor(E2M1, dtype=torch.float64).outer(HARDWARE_E4M3.double())
    assert same_values(elements, exact.repeat_interleave(16, dim=1))


def test_a_scale_belongs_to_sixteen_elements_of_its_row():
    packed = torch.full((2, 24), 0x22, dtype=torch.uint8)
    scales = torch.tensor([[0x38, 0x40, 0x48], [0x30, 0x00, 0x7E]], dtype=torch.uint8)
    expected = torch.tensor([[1.0, 2, 4], [0.5, 0, 448]]).repeat_interleave(16, dim=1)
    assert torch.equal(dequantize(packed, scales, torch.float32), expected)


def test_decoding_keeps_empty_and_extra_dimensions():
    assert decode_e2m1(torch.empty(0, 8, dtype=torch.uint8)).shape == (0, 16)
    assert decode_e2m1(ALL_BYTES.view(2, 4, 32)).shape == (2, 4, 64)
    empty = torch.empty(0, 8, dtype=torch.uint8), torch.empty(0, 1, dtype=torch.uint8)
    assert dequantize(*empty).shape == (0, 16)


def test_packing_and_unpacking_are_inverse():
    assert torch.equal(pack(unpack(ALL_BYTES)), ALL_BYTES)
    assert unpack(torch.tensor([0xA3], dtype=torch.uint8)).tolist() == [0x3, 0xA]
    assert torch.equal(unpack(pack(ALL_CODES)), ALL_CODES)


def test_encoding_gives_every_code_and_every_scale_byte_back():
    assert torch.equal(encode_e2m1(torch.tensor(E2M1)), ALL_CODES)
    numbers = ALL_BYTES[~HARDWARE_E4M3.isnan()]
    assert torch.equal(encode_e4m3(decode_e4m3(numbers)), numbers)


FORMATS = pytest.mark.parametrize(
    ("encode", "magnitudes", "sign"),
    [
        (encode_e2m1, torch.tensor(E2M1[:8], dtype=torch.float64), 8),
        (encode_e4m3, HARDWARE_E4M3[:0x7F].double(), 0x80),
    ],
    ids=["e2m1", "e4m3"],
)


@FORMATS
def test_every_tie_goes_to_the_even_code_and_its_neighbours_to_the_nearest(
    encode, magnitudes, sign
):
    lower = torch.arange(len(magnitudes) - 1).to(torch.uint8)
    ties = (magnitudes[:-1] + magnitudes[1:]) / 2
    for direction, expected in (
        (0.0, lower + lower % 2),
        (-math.inf, lower),
        (math.inf, lower + 1),
    ):
        near = ties if direction == 0 else ties.nextafter(torch.full_like(ties, direction))
        assert torch.equal(encode(near), expected)
        assert torch.equal(encode(-near), expected | sign)


@FORMATS
def test_encoding_saturates_and_keeps_the_sign_of_zero(encode, magnitudes, sign):
    largest = len(magnitudes) - 1
    beyond = torch.tensor([magnitudes[-1] * 1.01, magnitudes[-1] * 2, 1e30, math.inf])
    assert encode(beyond).tolist() == [largest] * 4
    assert encode(-beyond).tolist() == [largest | sign] * 4
    assert encode(torch.tensor([0.0, -0.0, 1e-30, -1e-30])).tolist() == [0, sign, 0, sign]


def test_nan_becomes_nan_where_there_is_one_and_the_largest_element_where_not():
    assert encode_e4m3(torch.tensor([math.nan, -math.nan])).tolist() == [0x7F, 0x7F]
    assert encode_e2m1(torch.tensor([math.nan, -math.nan])).tolist() == [7, 7]


@given(st.lists(st.floats(-448, 448, width=32), min_size=1))
def test_encoding_scales_rounds_like_the_hardware_type(values):
    floats = torch.tensor(values)
    assert torch.equal(encode_e4m3(floats), floats.to(torch.float8_e4m3fn).view(torch.uint8))


@given(st.lists(st.floats(-8, 8, width=16), min_size=1))
def test_encoding_elements_gives_a_nearest_one(values):
    floats = torch.tensor(values, dtype=torch.float16)
    table = torch.tensor(E2M1)
    chosen = table[encode_e2m1(floats).long()]
    nearest = (floats.float().unsqueeze(1) - table).abs().amin(1)
    assert torch.equal((floats.float() - chosen).abs(), nearest)
