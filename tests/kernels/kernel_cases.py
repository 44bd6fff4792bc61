"""What every kernel that takes all legal sizes must get right, whoever runs it."""

from kernels.problem import Case, ConstantOperands
from kernels.problems import NVFP4_GROUP_GEMM

SIX, MINUS_SIX, ONE, NAN = 7, 15, 0x38, 0x7F

OFFICIAL = {f"official_{index}": case for index, case in enumerate(NVFP4_GROUP_GEMM.tests)}


def _case(m: list[int], n: list[int], k: list[int], **rest) -> Case:
    return Case(tuple(m), tuple(n), tuple(k), **rest)


ANY = {
    "one_element_of_work": _case([1], [1], [16]),
    "full_range": _case([96, 130], [128, 72], [256, 512], distribution="full_range"),
    "ragged_rows_with_poisoned_padding": _case(
        [1, 127, 129, 33],
        [128, 384, 1856, 256],
        [256, 512, 272, 1024],
        distribution="full_range",
        poison_padding=True,
    ),
    "aligned_ragged_rows_with_poisoned_padding": _case(
        [1, 127, 129], [136, 8, 264], [32, 288, 96], distribution="full_range", poison_padding=True
    ),
    "odd_columns": _case([3, 5], [100, 1], [16, 272], poison_padding=True),
    "empty_group_in_the_middle": _case([128, 0, 64], [256] * 3, [512] * 3),
    "empty_group_first": _case([0, 7], [100, 36], [48, 16]),
    "only_empty_groups": _case([0, 0], [256] * 2, [512] * 2),
    "at_the_edge_of_float16": _case(
        [128] * 3,
        [128] * 3,
        [1792, 2048, 2048],
        distribution=ConstantOperands(SIX, (SIX, SIX, MINUS_SIX), ONE, ONE),
    ),
    "nan_scale": _case([5], [9], [32], distribution=ConstantOperands(1, 1, NAN, ONE)),
    "groups_beyond_unrolling": _case([1, 0, 3] * 7, [8, 16, 24] * 7, [32] * 21),
}

MANY_GROUPS = _case([2048] + [1] * 255, [256] * 256, [256] * 256)
MOST_GROUPS = _case([1] * 1024, [8] * 1024, [32] * 1024)
