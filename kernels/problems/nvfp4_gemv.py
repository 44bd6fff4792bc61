"""A batch of matrices, each times a vector. The competition's cases, as it writes them."""

from types import MappingProxyType

from kernels.problem import Case, Official, Problem


def _case(m: int, k: int, batch: int) -> Case:
    return Case(m=(m,), n=(1,), k=(k,), l=batch)


NVFP4_GEMV = Problem(
    name="nvfp4_gemv",
    title="NVFP4 batched GEMV",
    equation="C[z] = (A[z] * SFA[z]) @ (b[z] * SFB[z]) for every z below l",
    description=(
        "Block-scaled 4-bit operands: E2M1 elements, two a byte along k with the low nibble first, "
        "one E4M3 scale for 16 elements along k. Sums in float32, one rounding to float16. One "
        "entry of m and k, n is 1, l is the batch. In memory b has 128 rows, of which the first "
        "counts."
    ),
    tests=(
        _case(128, 256, 1),
        _case(128, 1536, 1),
        _case(128, 3072, 1),
        _case(256, 7168, 1),
        _case(256, 7168, 1),
        _case(2432, 4608, 2),
        _case(384, 7168, 2),
        _case(512, 512, 2),
        _case(512, 4096, 2),
        _case(512, 1536, 2),
    ),
    benchmarks=(
        _case(7168, 16384, 1),
        _case(4096, 7168, 8),
        _case(7168, 2048, 4),
    ),
    kernels=("auto", "portable"),
    modules=MappingProxyType({"portable": "kernels.batched_gemv"}),
    vector=True,
    # Every second element is zero, the others 0 to 1.5; scales are 0, 1 and 2.
    official=Official(code_mask=0x03, scales=(0x00, 0x38, 0x40), exact=True),
    tensors=MappingProxyType(
        {
            "a": "float4_e2m1fn_x2 [m, k/2, l], k contiguous",
            "b": "float4_e2m1fn_x2 [128, k/2, l], k contiguous; row 0 counts",
            "sfa, sfb": "float8_e4m3fn [m or 128, k/16, l]",
            "sfa_reordered, sfb_reordered": (
                "float8_e4m3fn [32, 4, ceil(rows/128), 4, ceil(k/64), l], "
                "a permuted view of [l, ceil(rows/128), ceil(k/64), 32, 4, 4]"
            ),
            "c": "float16 [m, 1, l]; to be overwritten and returned",
        }
    ),
)
