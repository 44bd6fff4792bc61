"""Grouped GEMM: every group has its own m, n and k. The competition's cases, as it writes them."""

from collections.abc import Sequence
from types import MappingProxyType

from kernels.problem import Case, Official, Problem


def _case(m: Sequence[int], n: Sequence[int], k: Sequence[int]) -> Case:
    return Case(m=tuple(m), n=tuple(n), k=tuple(k))


NVFP4_GROUP_GEMM = Problem(
    name="nvfp4_group_gemm",
    title="NVFP4 grouped GEMM",
    equation="C[g] = (A[g] * SFA[g]) @ (B[g] * SFB[g]).T for every group g",
    description=(
        "Block-scaled 4-bit operands: E2M1 elements, two a byte along k with the low nibble first, "
        "one E4M3 scale for 16 elements along k. Sums in float32, one rounding to float16. Every "
        "group has its own m, n and k; k is a multiple of 16 and m may be 0."
    ),
    tests=(
        _case([96, 128], [128, 256], [256, 512]),
        _case([256, 72], [512, 384], [256, 256]),
        _case([128, 128], [128, 256], [512, 256]),
        _case([80, 128, 256], [384, 256, 128], [256, 512, 256]),
        _case([64, 72, 96], [128, 384, 512], [512, 512, 256]),
        _case([64, 256, 128], [768, 128, 256], [512, 256, 512]),
        _case([128, 128, 64], [256, 512, 512], [768, 256, 768]),
        _case([128] * 4, [128] * 4, [512, 256, 512, 256]),
        _case([40, 56, 384, 512], [512, 384, 256, 128], [256] * 4),
        _case([512, 384, 256, 128], [256] * 4, [512, 768, 512, 768]),
    ),
    benchmarks=(
        _case([80, 176, 128, 72, 64, 248, 96, 160], [4096] * 8, [7168] * 8),
        _case([40, 76, 168, 72, 164, 148, 196, 160], [7168] * 8, [2048] * 8),
        _case([192, 320], [3072] * 2, [4096] * 2),
        _case([128, 384], [4096] * 2, [1536] * 2),
    ),
    kernels=("auto", "portable", "dot_scaled", "hopper"),
    modules=MappingProxyType(
        {
            "dot_scaled": "kernels.dot_scaled_gemm",
            "hopper": "kernels.hopper_gemm",
            "portable": "kernels.portable_gemm",
        }
    ),
    official=Official(code_mask=0xBB, scales=(0x38, 0x40), exact=True),
    grouped=True,
    tensors=MappingProxyType(
        {
            "a": "float4_e2m1fn_x2 [m, k/2, 1], k contiguous",
            "b": "float4_e2m1fn_x2 [n, k/2, 1], k contiguous",
            "c": "float16 [m, n, 1], n contiguous; to be overwritten and returned",
            "sfa, sfb": "float8_e4m3fn [m or n, k/16, 1] in host memory",
            "sfa_reordered, sfb_reordered": (
                "float8_e4m3fn [32, 4, ceil(rows/128), 4, ceil(k/64), 1], "
                "a permuted view of [1, ceil(rows/128), ceil(k/64), 32, 4, 4]"
            ),
            "sizes": "(m, n, k, 1)",
        }
    ),
)
