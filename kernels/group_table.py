"""The groups of a call as one launch reads them: checked on the host, then one small tensor."""

from dataclasses import dataclass

import torch

from kernels.checks import check_blocked, check_rows
from kernels.layout import SubmissionData
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
        check_rows(f"group {group}: a", a, torch.float4_e2m1fn_x2, (m, k // 2, 1))
        check_rows(f"group {group}: b", b, torch.float4_e2m1fn_x2, (n, k // 2, 1))
        check_rows(f"group {group}: c", c, torch.float16, (m, n, 1))
        check_blocked(f"group {group}: sfa_reordered", sfa, m, k)
        check_blocked(f"group {group}: sfb_reordered", sfb, n, k)
        shapes.append(GroupShape(m, n, k))
        addresses.append(tuple(tensor.data_ptr() for tensor in (a, b, sfa, sfb, c)))
    device = abc[0][0].device if abc else torch.device("cpu")
    return GroupTable(tuple(shapes), tuple(addresses), device)


def _tiles(shape: GroupShape, tile: TileConfig) -> int:
    return -(-shape.m // tile.block_m) * -(-shape.n // tile.block_n)
