"""Types that competition files import: `from task import input_t, output_t`."""

from typing import TypedDict, TypeVar

import torch

input_t = TypeVar(
    "input_t",
    bound=tuple[
        list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]],
        list[tuple[torch.Tensor, torch.Tensor]],
        list[tuple[torch.Tensor, torch.Tensor]],
        list[tuple[int, int, int, int]],
    ],
)
output_t = TypeVar("output_t", bound=list[torch.Tensor])


class TestSpec(TypedDict):
    """One case as the competition writes it: sizes a group, number of groups, seed."""

    m: list[int]
    n: list[int]
    k: list[int]
    g: int
    seed: int
