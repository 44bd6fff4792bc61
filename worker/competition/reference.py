"""What competition files import from `reference`: operands and a slow right answer to try with.

The judge uses neither: its operands come from seeds of its own, its reference runs elsewhere.
"""

from collections.abc import Sequence
from typing import Any

import torch

from kernels.nvfp4 import dequantize
from kernels.operands import draw, submission_data
from kernels.problem import Case
from utils import make_match_reference  # type: ignore[import-not-found]  # beside this file


def generate_input(
    m: Sequence[int],
    n: Sequence[int],
    k: Sequence[int],
    g: int | None = None,
    seed: int = 0,
) -> Any:  # noqa: ANN401
    """Make operands of the official distribution. `g`, where given, is the number of groups."""
    case = Case(m=tuple(m), n=tuple(n), k=tuple(k))
    if g is not None and g != len(case.m):
        raise ValueError(f"g is {g}, but m has {len(case.m)} entries")
    operands = draw(case, seed)
    outputs = [torch.randn(m, n).half() for m, n, _ in case.groups]
    return submission_data(operands, outputs)


def ref_kernel(data: Any) -> list[torch.Tensor]:  # noqa: ANN401
    """Return the outputs in float16, computed in float64."""
    abc, scales, _, _ = data
    outputs = []
    for (a, b, c), (sfa, sfb) in zip(abc, scales, strict=True):
        rows, columns = (
            dequantize(x[..., 0].view(torch.uint8), scale.to(x.device)[..., 0].view(torch.uint8))
            for x, scale in ((a, sfa), (b, sfb))
        )
        outputs.append((rows @ columns.T).to(c.dtype).unsqueeze(-1))
    return outputs


check_implementation = make_match_reference(ref_kernel, rtol=1e-3, atol=1e-3)
