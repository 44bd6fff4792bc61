"""Two GEMMs with one A, the first through silu, multiplied. The competition's cases."""

from types import MappingProxyType

from kernels.problem import Case, Official, Problem

_STEPS = 256
_ONE = 0x38


def _case(m: int, n: int, k: int) -> Case:
    return Case(m=(m,), n=(n,), k=(k,))


def _e4m3_value(byte: int) -> float:
    exponent, mantissa = divmod(byte, 8)
    return (8 + mantissa) * 2.0 ** (exponent - 10) if exponent else mantissa * 2.0**-9


def _nearest_e4m3(value: float) -> int:
    return min(range(_ONE + 1), key=lambda byte: abs(_e4m3_value(byte) - value))


NVFP4_DUAL_GEMM = Problem(
    name="nvfp4_dual_gemm",
    title="NVFP4 dual GEMM",
    equation="C = silu((A * SFA) @ (B1 * SFB1).T) * ((A * SFA) @ (B2 * SFB2).T)",
    description=(
        "Block-scaled 4-bit operands: E2M1 elements, two a byte along k with the low nibble first, "
        "one E4M3 scale for 16 elements along k. Sums, silu(x) = x / (1 + exp(-x)) and the product "
        "in float32, one rounding to float16. One entry of m, n and k; l is a batch."
    ),
    tests=(
        _case(1536, 512, 7168),
        _case(256, 512, 256),
        _case(1536, 512, 7168),
        _case(3072, 1024, 1536),
        _case(7168, 1024, 256),
        _case(7168, 2304, 2048),
        _case(4608, 384, 7168),
        _case(7168, 384, 2304),
        _case(512, 768, 7168),
        _case(4096, 768, 512),
    ),
    benchmarks=(
        _case(256, 4096, 7168),
        _case(512, 4096, 7168),
        _case(256, 3072, 4096),
        _case(512, 3072, 7168),
    ),
    kernels=("auto", "portable"),
    modules=MappingProxyType({"portable": "kernels.dual_gemm"}),
    right=("b1", "b2"),
    epilogue="kernels.silu_gate",
    # Scales are drawn evenly from 0 to 1 and rounded, so that sums round in float32 too.
    official=Official(
        code_mask=0xBB,
        scales=tuple(_nearest_e4m3((step + 0.5) / _STEPS) for step in range(_STEPS)),
        exact=False,
    ),
    largest_sum=255.0,  # the product of two of them is finite
    tensors=MappingProxyType(
        {
            "a": "float4_e2m1fn_x2 [m, k/2, l], k contiguous",
            "b1, b2": "float4_e2m1fn_x2 [n, k/2, l], k contiguous",
            "sfa, sfb1, sfb2": "float8_e4m3fn [m or n, k/16, l]",
            "sfa_reordered, sfb1_reordered, sfb2_reordered": (
                "float8_e4m3fn [32, 4, ceil(rows/128), 4, ceil(k/64), l], "
                "a permuted view of [l, ceil(rows/128), ceil(k/64), 32, 4, 4]"
            ),
            "c": "float16 [m, n, l], n contiguous; to be overwritten and returned",
        }
    ),
)
