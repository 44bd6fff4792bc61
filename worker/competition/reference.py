"""What competition files import from `reference`: operands and a slow right answer to try with.

The judge uses neither: its operands come from seeds of its own, its reference runs elsewhere.
"""

from collections.abc import Sequence
from typing import Any

import torch

from kernels.layout import Layout, fill, handed_over, taken_back
from kernels.operands import draw
from kernels.problem import Case, Problem
from kernels.problems import NVFP4_GROUP_GEMM
from kernels.reference import output
from utils import make_match_reference  # type: ignore[import-not-found]  # beside this file

PROBLEM: Problem = NVFP4_GROUP_GEMM
"""Set to that of the job before a file is imported."""
Sizes = int | Sequence[int]


def generate_input(
    m: Sizes,
    n: Sizes = 1,
    k: Sizes = 16,
    l: int = 1,  # noqa: E741
    g: int | None = None,
    seed: int = 0,
) -> Any:  # noqa: ANN401
    """Make operands of the official distribution; sizes are lists where the problem has groups.

    A problem with a vector goes without `n`, one with groups without `l`. `g`, where given, is the
    number of groups.
    """
    case = Case(m=_tuple(m), n=_tuple(n), k=_tuple(k), l=l)
    PROBLEM.check(case)
    if g is not None and g != len(case.m):
        raise ValueError(f"g is {g}, but m has {len(case.m)} entries")
    layout = Layout.of(PROBLEM, case)
    groups = [layout.tensors(shape, _memory, _memory) for shape in case.groups]
    fill(groups, draw(case, seed, problem=PROBLEM))
    for group in groups:
        group.output.copy_(torch.randn(group.output.shape))
    return handed_over(PROBLEM, groups)[0]


def ref_kernel(data: Any) -> Any:  # noqa: ANN401
    """Return the outputs in float16, computed in float64."""
    each = len(PROBLEM.right)
    outputs = []
    for group in taken_back(PROBLEM, data):
        products = list(group.products())
        entries = [products[first : first + each] for first in range(0, len(products), each)]
        outputs.append(torch.stack([output(*e, problem=PROBLEM) for e in entries], dim=-1))
    return outputs if PROBLEM.grouped else outputs[0]


check_implementation = make_match_reference(ref_kernel, rtol=1e-3, atol=1e-3)


def _tuple(sizes: Sizes) -> tuple[int, ...]:
    return (sizes,) if isinstance(sizes, int) else tuple(sizes)


def _memory(shape: tuple[int, ...]) -> torch.Tensor:
    return torch.empty(shape, dtype=torch.uint8)
