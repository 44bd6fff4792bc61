"""The tensors of a case: how they lie in memory, and how a submission receives them.

Of every operand there are codes, linear scales and blocked scales; each of them, and the output,
has the batch before everything else and is contiguous. A submission receives views of the same
memory with the batch last.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import torch
from torch import Tensor

from kernels.operands import GroupOperands
from kernels.problem import BLOCK_ELEMENTS, Case, GroupShape, Problem
from kernels.problems import NVFP4_GROUP_GEMM

Take = Callable[[tuple[int, ...]], Tensor]
"""Gives uint8 memory of a shape."""
SubmissionData = tuple[
    list[tuple[Tensor, Tensor, Tensor]],
    list[tuple[Tensor, Tensor]],
    list[tuple[Tensor, Tensor]],
    list[tuple[int, int, int, int]],
]
"""What a submission to a problem of groups receives."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupTensors:
    """The tensors of one group, those of A first."""

    codes: tuple[Tensor, ...]
    """uint8 [l, rows, k/2]."""
    scales: tuple[Tensor, ...]
    """uint8 [l, rows, k/16]."""
    blocked: tuple[Tensor, ...]
    """uint8 [l, ceil(rows/128), ceil(k/64), 32, 4, 4]."""
    output: Tensor
    """float16 [l, m, n]."""

    def products(self) -> Iterator[GroupOperands]:
        """Yield views of every entry of the batch and right operand."""
        per_operand = list(zip(self.codes, self.scales, self.blocked, strict=True))
        for z in range(len(self.output)):
            a, *rights = [[tensor[z] for tensor in tensors] for tensors in per_operand]
            for right in rights:
                pairs = zip(a, right, strict=True)
                yield GroupOperands(*(tensor for pair in pairs for tensor in pair))

    def named(self, problem: Problem) -> Mapping[str, Tensor]:
        """Return the operands under the names that authors know."""
        names = problem.operands
        return {
            **dict(zip(names, self.codes, strict=True)),
            **{f"sf{name}": each for name, each in zip(names, self.scales, strict=True)},
            **{f"sf{name}_reordered": each for name, each in zip(names, self.blocked, strict=True)},
        }


@dataclass(frozen=True, slots=True)
class Layout:
    """What the memory of a case depends on."""

    problem: Problem
    groups: tuple[GroupShape, ...]
    batch: int

    @classmethod
    def of(cls, problem: Problem, case: Case) -> Self:
        """Return the layout of a case."""
        return cls(problem, case.groups, case.l)

    def tensors(self, shape: GroupShape, host: Take, device: Take) -> GroupTensors:
        """Take memory for one group; linear scales of problems with groups are the host's."""
        rows, batch = self.problem.rows(shape), self.batch
        columns, tiles = shape.k // BLOCK_ELEMENTS, -(-shape.k // 64)
        linear = host if self.problem.grouped else device
        return GroupTensors(
            codes=tuple(device((batch, each, shape.k // 2)) for each in rows),
            scales=tuple(linear((batch, each, columns)) for each in rows),
            blocked=tuple(device((batch, -(-each // 128), tiles, 32, 4, 4)) for each in rows),
            output=device((batch, shape.m, shape.n * 2))
            .view(torch.float16)
            .view(batch, shape.m, shape.n),
        )


def fill(groups: Sequence[GroupTensors], products: Sequence[GroupOperands]) -> None:
    """Copy the operands of products, in their order, to where they lie."""
    places = (place for group in groups for place in group.products())
    for given, place in zip(products, places, strict=True):
        for field in fields(GroupOperands):
            getattr(place, field.name).copy_(getattr(given, field.name))


def handed_over(problem: Problem, groups: Sequence[GroupTensors]) -> tuple[Any, list[Tensor]]:
    """Return what a submission receives, and the outputs in it, one a group.

    With groups that is `(abc, sf, sf_reordered, sizes)`, lists with one entry a group, else
    `(*codes, *scales, *reordered, c)`. Everything is a view, but for linear scales of a problem
    with groups that are not in host memory yet: it hands these over on the CPU.
    """
    abc, sf, sf_reordered, sizes, outputs = [], [], [], [], []
    for group in groups:
        codes = tuple(_batch_last(x.view(torch.float4_e2m1fn_x2)) for x in group.codes)
        scales = tuple(_batch_last(x.view(torch.float8_e4m3fn)) for x in group.scales)
        reordered = tuple(_reordered(x.view(torch.float8_e4m3fn)) for x in group.blocked)
        outputs.append(_batch_last(group.output))
        abc.append((*codes, outputs[-1]))
        sf.append(tuple(x.cpu() for x in scales) if problem.grouped else scales)
        sf_reordered.append(reordered)
        batch, m, n = group.output.shape
        sizes.append((m, n, group.codes[0].shape[2] * 2, batch))
    if problem.grouped:
        return (abc, sf, sf_reordered, sizes), outputs
    return (*abc[0][:-1], *sf[0], *sf_reordered[0], outputs[0]), outputs


def taken_back(problem: Problem, data: Any) -> list[GroupTensors]:  # noqa: ANN401
    """Return the tensors behind what a submission received: the inverse of `handed_over`."""
    count = len(problem.operands)
    if problem.grouped:
        groups = [(*abc, *sf, *reordered) for abc, sf, reordered in zip(*data[:3], strict=True)]
        groups = [(*g[:count], *g[count + 1 :], g[count]) for g in groups]
    else:
        groups = [data]
    return [
        GroupTensors(
            codes=tuple(_batch_first(x.view(torch.uint8)) for x in group[:count]),
            scales=tuple(_batch_first(x.view(torch.uint8)) for x in group[count : 2 * count]),
            blocked=tuple(
                x.view(torch.uint8).permute(5, 2, 4, 0, 1, 3) for x in group[2 * count : -1]
            ),
            output=_batch_first(group[-1]),
        )
        for group in groups
    ]


def submission_data(groups: Sequence[GroupOperands], outputs: Sequence[Tensor]) -> SubmissionData:
    """Return what a submission to the grouped GEMM receives; `outputs` are float16 [m, n]."""
    tensors = [
        GroupTensors(
            codes=(group.a[None], group.b[None]),
            scales=(group.sfa[None], group.sfb[None]),
            blocked=(group.sfa_blocked[None], group.sfb_blocked[None]),
            output=output[None],
        )
        for group, output in zip(groups, outputs, strict=True)
    ]
    data: SubmissionData = handed_over(NVFP4_GROUP_GEMM, tensors)[0]
    return data


def _batch_last(tensor: Tensor) -> Tensor:
    return tensor.permute(1, 2, 0)


def _batch_first(tensor: Tensor) -> Tensor:
    return tensor.permute(2, 0, 1)


def _reordered(blocked: Tensor) -> Tensor:
    """Return [32, 4, row tiles, 4, column tiles, l]."""
    return blocked.permute(3, 4, 1, 5, 2, 0)
