"""The groups of a call as one launch reads them: checked on the host, then one small tensor."""

from dataclasses import dataclass

import torch

from kernels.operands import SubmissionData
from kernels.problem import BLOCK_ELEMENTS, GroupShape
from kernels.tiles import TileConfig

ADDRESSES = 5
"""Addresses of a group in the table, in this order: a, b, sfa, sfb, c."""
FIELDS = ADDRESSES + 4
"""Rows of the table: the addresses, then m, n, k, and the group's first tile."""


@dataclass(frozen=True, slots=True)
class GroupTable:
    """The groups that have rows. An empty group has no work and no place here."""

    shapes: tuple[GroupShape, ...]
    addresses: tuple[tuple[int, ...], ...]
    device: torch.device

    def tiles(self, tile: TileConfig) -> int:
        """Return the number of output tiles of all groups."""
        return sum(_tiles(shape, tile) for shape in self.shapes)

    def upload(self, tile: TileConfig) -> torch.Tensor:
        """Return the table on the device, int64 `[FIELDS, groups]`."""
        rows = []
        first_tile = 0
        for shape, addresses in zip(self.shapes, self.addresses, strict=True):
            rows.append((*addresses, *shape, first_tile))
            first_tile += _tiles(shape, tile)
        columns = list(zip(*rows, strict=True))
        table = torch.tensor(columns, dtype=torch.int64)
        if self.device.type == "cpu":
            return table
        # From pageable memory the copy would wait for the device, and the launch behind it too.
        return table.pin_memory().to(self.device, non_blocking=True)


def read_groups(data: SubmissionData) -> GroupTable:
    """Check the operands of a call and note where they are.

    Raises:
        ValueError: naming the group and the tensor whose dtype, shape or strides are not as agreed.

    """
    abc, _, blocked_scales, sizes = data
    shapes = []
    addresses = []
    for group, (m, n, k, _batch) in enumerate(sizes):
        if m == 0:
            continue
        if k % BLOCK_ELEMENTS:
            raise ValueError(f"group {group}: k must be a multiple of {BLOCK_ELEMENTS}, got {k}")
        a, b, c = abc[group]
        sfa, sfb = blocked_scales[group]
        _check_rows(f"group {group}: a", a, torch.float4_e2m1fn_x2, (m, k // 2, 1))
        _check_rows(f"group {group}: b", b, torch.float4_e2m1fn_x2, (n, k // 2, 1))
        _check_rows(f"group {group}: c", c, torch.float16, (m, n, 1))
        _check_blocked(f"group {group}: sfa_reordered", sfa, m, k)
        _check_blocked(f"group {group}: sfb_reordered", sfb, n, k)
        shapes.append(GroupShape(m, n, k))
        addresses.append(tuple(tensor.data_ptr() for tensor in (a, b, sfa, sfb, c)))
    device = abc[0][0].device if abc else torch.device("cpu")
    return GroupTable(tuple(shapes), tuple(addresses), device)


def _check_rows(
    name: str, tensor: torch.Tensor, dtype: torch.dtype, shape: tuple[int, int, int]
) -> None:
    if tensor.dtype != dtype or tensor.shape != shape or not tensor.is_contiguous():
        raise ValueError(
            f"{name} must be {dtype} {shape} with contiguous rows, "
            f"got {tensor.dtype} {tuple(tensor.shape)} with strides {tensor.stride()}"
        )


def _check_blocked(name: str, scale: torch.Tensor, rows: int, k: int) -> None:
    shape = (32, 4, -(-rows // 128), 4, -(-k // 64), 1)
    if (
        scale.dtype != torch.float8_e4m3fn
        or scale.shape != shape
        or not scale.permute(5, 2, 4, 0, 1, 3).is_contiguous()
    ):
        raise ValueError(
            f"{name} must be torch.float8_e4m3fn {shape} in blocked order, "
            f"got {scale.dtype} {tuple(scale.shape)} with strides {scale.stride()}"
        )


def _tiles(shape: GroupShape, tile: TileConfig) -> int:
    return -(-shape.m // tile.block_m) * -(-shape.n // tile.block_n)
