"""The epilogue of the dual GEMM: `silu(gate) * up`, and how far float32 may be off in it."""

import torch
from torch import Tensor

from kernels.reference import Wanted

_EXPONENTIAL = 2.0**-18
"""Relative error of silu in float32: an error of half a step in its argument, up to 45 where the
result still matters in float16, passes through the exponential."""


def combine(gate: Wanted, up: Wanted) -> Wanted:
    """Return the output of two sums, with what their rounding makes of it."""
    gated = _silu(gate.value)
    # Not by a bound on the slope: far below zero silu is flat, and a sum may be off by much.
    drift = torch.maximum(
        (_silu(gate.value + gate.rounding) - gated).abs(),
        (_silu(gate.value - gate.rounding) - gated).abs(),
    )
    value = gated * up.value
    of_sums = drift * (up.value.abs() + up.rounding) + gated.abs() * up.rounding
    return Wanted(value, of_sums + _EXPONENTIAL * value.abs())


def _silu(x: Tensor) -> Tensor:
    return x * x.sigmoid()
