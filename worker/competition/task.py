"""Types that competition files import: `from task import input_t, output_t`.

They are for annotations, and the same for all problems: docs/problems.md has the tensors of each.
"""

from typing import Any, TypedDict, TypeVar

import torch

input_t = TypeVar("input_t", bound=tuple[Any, ...])
output_t = TypeVar("output_t", bound=torch.Tensor | list[torch.Tensor])


class TestSpec(TypedDict, total=False):
    """One case as the competition writes it: sizes (lists where there are groups), and a seed."""

    m: int | list[int]
    n: int | list[int]
    k: int | list[int]
    l: int  # noqa: E741
    g: int
    seed: int
