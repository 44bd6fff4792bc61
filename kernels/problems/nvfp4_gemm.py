"""One GEMM, or a batch of equal ones. The competition's cases, as it writes them."""

from types import MappingProxyType

from kernels.problem import Case, Official, Problem


def _case(m: int, n: int, k: int) -> Case:
    return Case(m=(m,), n=(n,), k=(k,))


NVFP4_GEMM = Problem(
    name="nvfp4_gemm",
    title="NVFP4 GEMM",
    equation="C = (A * SFA) @ (B * SFB).T",
    description=(
        "Block-scaled 4-bit operands: E2M1 elements, two a byte along k with the low nibble first, "
        "one E4M3 scale for 16 elements along k. Sums in float32, one rounding to float16. One "
        "entry of m, n and k; l is a batch of equal GEMMs, 1 in all official cases."
    ),
    tests=(
        _case(128, 256, 256),
        _case(128, 1536, 7168),
        _case(128, 3072, 1536),
        _case(256, 7168, 256),
        _case(256, 7168, 2048),
        _case(2304, 4608, 7168),
        _case(384, 7168, 2304),
        _case(512, 512, 7168),
        _case(512, 4096, 512),
        _case(512, 1536, 7168),
    ),
    benchmarks=(
        _case(128, 7168, 16384),
        _case(128, 4096, 7168),
        _case(128, 7168, 2048),
    ),
    kernels=("auto", "portable", "dot_scaled", "hopper"),
    modules=MappingProxyType(
        {
            "dot_scaled": "kernels.dot_scaled_gemm",
            "hopper": "kernels.hopper_gemm",
            "portable": "kernels.portable_gemm",
        }
    ),
    adapter="kernels.gemm_as_groups",
    # Scales 0, 1, 2 and 3, and all codes.
    official=Official(code_mask=0xFF, scales=(0x00, 0x38, 0x40, 0x44), exact=True),
    tensors=MappingProxyType(
        {
            "a": "float4_e2m1fn_x2 [m, k/2, l], k contiguous",
            "b": "float4_e2m1fn_x2 [n, k/2, l], k contiguous",
            "sfa, sfb": "float8_e4m3fn [m or n, k/16, l]",
            "sfa_reordered, sfb_reordered": (
                "float8_e4m3fn [32, 4, ceil(rows/128), 4, ceil(k/64), l], "
                "a permuted view of [l, ceil(rows/128), ceil(k/64), 32, 4, 4]"
            ),
            "c": "float16 [m, n, l], n contiguous; to be overwritten and returned",
        }
    ),
)
