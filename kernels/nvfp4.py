"""NVFP4: pairs of E2M1 elements in bytes, one E4M3 block scale for 16 elements along k.

Theory of operation

E2M1 has a sign, two exponent bits and one mantissa bit. Codes 0..7 are 0, 0.5, 1, 1.5, 2, 3, 4, 6
and bit 3 is the sign, so code 8 is -0. There is no infinity and no NaN. A byte holds two codes of
one row; the low nibble is the even k.

E4M3 (`float8_e4m3fn`) has four exponent bits of bias 7 and three mantissa bits: 0x01 is 2^-9,
0x7E is 448, 0x7F is NaN, there is no infinity. Bit 7 is the sign; a block scale never sets it,
because hardware reads block scales as unsigned. A block scale is always the decode multiplier:
element = code * scale. There is no scale of a whole tensor.

A code has at most two significant bits and a scale at most four, so their product has at most six.
It is a multiple of 2^-10 and at most 6 * 448 = 2688. Both ends lie inside the normal and subnormal
range of float16, so decoding to float16, bfloat16 or float32 is exact, and a tensor core that
multiplies decoded float16 with float32 accumulation computes the same mathematics as one that
reads the four bits. A product of two elements has at most twelve bits: exact in float32. Only the
sum rounds, and the last step to float16.

Encoding rounds to the nearest value, ties to the even mantissa, and saturates at 6 or 448. Both
formats are one scheme: the spacing of the binade divides the magnitude, the quotient is rounded to
an integer, and that integer is the offset of the code from the first code of the binade. A quotient
that rounds up to the next binade carries into the exponent by itself, and the subnormal binade is
the lowest one with the offset starting at zero. A zero keeps its sign. NaN becomes 0x7F in E4M3; in
E2M1, which has none, it becomes +6 as in the PTX conversion `cvt.rn.satfinite.e2m1x2`.
"""

import torch
from torch import Tensor

from kernels.problem import BLOCK_ELEMENTS

E2M1_VALUES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Magnitudes of codes 0..7; codes 8..15 are their negatives."""
E2M1_LARGEST = 7
E4M3_ONE = 0x38
E4M3_LARGEST = 0x7E
"""The byte of 448, the largest finite block scale."""
E4M3_NAN = 0x7F


def _e4m3_value(byte: int) -> float:
    exponent, mantissa = byte >> 3 & 15, byte & 7
    if byte & 0x7F == E4M3_NAN:
        return float("nan")
    magnitude = (8 + mantissa) * 2.0 ** (exponent - 10) if exponent else mantissa * 2.0**-9
    return -magnitude if byte & 0x80 else magnitude


_E2M1_TABLE = torch.tensor([*E2M1_VALUES, *(-value for value in E2M1_VALUES)])
_PAIR_TABLE = torch.stack((_E2M1_TABLE.repeat(16), _E2M1_TABLE.repeat_interleave(16)), dim=1)
_E4M3_TABLE = torch.tensor([_e4m3_value(byte) for byte in range(256)])


def _look_up(table: Tensor, codes: Tensor, dtype: torch.dtype) -> Tensor:
    return table.to(codes.device, dtype).index_select(0, codes.reshape(-1).int())


def unpack(packed: Tensor) -> Tensor:
    """Return the codes 0..15 as uint8 [..., k] of packed uint8 [..., k/2]."""
    return torch.stack((packed & 15, packed >> 4), dim=-1).flatten(-2)


def pack(codes: Tensor) -> Tensor:
    """Return packed uint8 [..., k/2] of codes 0..15, uint8 [..., k] with an even k."""
    return codes[..., 0::2] | codes[..., 1::2] << 4


def decode_e2m1(packed: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return the elements [..., k] of packed uint8 [..., k/2], exactly, -0 included."""
    pairs = _look_up(_PAIR_TABLE, packed, dtype)
    return pairs.view(*packed.shape[:-1], packed.shape[-1] * 2)


def decode_e4m3(scales: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return the values of E4M3 bytes (uint8, any shape), exactly; 0x7F and 0xFF are NaN."""
    return _look_up(_E4M3_TABLE, scales, dtype).view(scales.shape)


def dequantize(packed: Tensor, scales: Tensor, dtype: torch.dtype = torch.float64) -> Tensor:
    """Return code * scale as [..., k], exact in float16, bfloat16 and wider.

    `packed` is uint8 [..., k/2] and `scales` uint8 [..., k/16] in the linear layout.
    """
    elements = decode_e2m1(packed, dtype)
    blocks = elements.view(*scales.shape, BLOCK_ELEMENTS)
    blocks *= decode_e4m3(scales, dtype).unsqueeze(-1)
    return elements


def _nearest_code(values: Tensor, mantissa_bits: int, lowest: int, highest: int) -> Tensor:
    """Return unsigned codes of |values|, not yet saturated; binades `lowest`..`highest`."""
    magnitude = values.abs().double()
    inside = magnitude.clamp(2.0**lowest, 2.0**highest)
    fraction, exponent = torch.frexp(inside)
    spacing = inside / fraction * 2.0 ** -(mantissa_bits + 1)
    return (magnitude / spacing).round() + ((exponent - 1 - lowest) << mantissa_bits)


def encode_e2m1(values: Tensor) -> Tensor:
    """Return the nearest codes 0..15, uint8 in the shape of floating `values`."""
    code = _nearest_code(values, mantissa_bits=1, lowest=0, highest=2)
    code = code.clamp(max=E2M1_LARGEST).nan_to_num(nan=E2M1_LARGEST).to(torch.uint8)
    return code | (values.signbit() & ~values.isnan()).to(torch.uint8) << 3


def encode_e4m3(values: Tensor) -> Tensor:
    """Return the nearest E4M3 bytes, uint8 in the shape of floating `values`."""
    code = _nearest_code(values, mantissa_bits=3, lowest=-6, highest=8)
    code = code.clamp(max=E4M3_LARGEST).nan_to_num(nan=E4M3_NAN).to(torch.uint8)
    return code | (values.signbit() & ~values.isnan()).to(torch.uint8) << 7
