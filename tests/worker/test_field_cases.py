"""Sizes and values that users of such services met: ragged, empty, overflowing, skewed."""

import pytest

from contract.limits import Limits
from contract.verdict import Incorrect, Passed
from kernels.problem import Case, ConstantOperands
from tests.worker.judge_harness import LIMITS, JudgeHarness

KERNELS = ("portable", "dot_scaled")
PATIENT = Limits(**{**LIMITS.model_dump(), "emulated_call_s": 60, "job_s": 240})

RAGGED = Case(
    m=(1, 127, 129, 33), n=(128, 384, 1856, 256), k=(256, 512, 272, 1024), poison_padding=True
)
EMPTY_GROUP = Case(m=(128, 0, 64), n=(256,) * 3, k=(512,) * 3)
ALL_EMPTY = Case(m=(0, 0), n=(256,) * 2, k=(512,) * 2)
SMALLEST = Case(m=(1,), n=(1,), k=(16,))
OVERFLOWING = Case(
    m=(128,) * 3,
    n=(128,) * 3,
    k=(1792, 2048, 2048),
    distribution=ConstantOperands(a_code=7, b_code=(7, 7, 15), a_scale=0x38, b_scale=0x38),
)
ZIPF = Case(m=tuple(max(1, 1024 // i) for i in range(1, 257)), n=(128,) * 256, k=(128,) * 256)


CASES = {
    "ragged": RAGGED,
    "empty_group": EMPTY_GROUP,
    "all_empty": ALL_EMPTY,
    "smallest": SMALLEST,
    "overflowing": OVERFLOWING,
}
# Both kernels have as many groups, and more, in tests/kernels: the one that takes less time here.
EACH = [
    *(pytest.param(k, case, id=f"{name}-{k}") for k in KERNELS for name, case in CASES.items()),
    pytest.param("dot_scaled", ZIPF, id="zipf-dot_scaled"),
]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("kernel", "case"), EACH)
def test_a_built_in_kernel_passes(judge: JudgeHarness, kernel: str, case: Case) -> None:
    verdict = judge.judge(cases=(case,), kernel=kernel, limits=PATIENT)
    assert isinstance(verdict, Passed), verdict.summary
    comparison = verdict.cases[0].comparison
    assert comparison.bit_exact
    assert len(verdict.model_dump_json()) < 1_000_000


def test_a_kernel_that_clamps_to_the_largest_float16_is_told_that_infinity_was_expected(
    judge: JudgeHarness,
) -> None:
    source = (
        b"from reference import ref_kernel\n"
        b"def custom_kernel(data):\n"
        b"    return [out.clamp(-65504, 65504) for out in ref_kernel(data)]\n"
    )
    verdict = judge.judge(source, (OVERFLOWING,))
    assert isinstance(verdict, Incorrect)
    assert "expected Infinity" in verdict.message or "expected -Infinity" in verdict.message
    assert verdict.cases[0].comparison.mismatched_elements == 2 * 128 * 128


def test_a_kernel_that_reads_the_row_padding_of_the_scales_is_caught(judge: JudgeHarness) -> None:
    source = (
        b"from reference import ref_kernel\n"
        b"import torch\n"
        b"def custom_kernel(data):\n"
        b"    leak = [s[0].float().sum() * 0 for s in data[2]]\n"
        b"    return [(o.float() + x).half() for o, x in zip(ref_kernel(data), leak)]\n"
    )
    verdict = judge.judge(source, (RAGGED,))
    assert isinstance(verdict, Incorrect)
    assert verdict.cases[0].comparison.non_finite_elements > 0


def test_the_first_call_of_each_case_is_told_apart_from_the_others(judge: JudgeHarness) -> None:
    source = (
        b"import time\n"
        b"from reference import ref_kernel\n"
        b"seen = set()\n"
        b"def custom_kernel(data):\n"
        b"    sizes = str(data[3])\n"
        b"    if sizes not in seen:\n"
        b"        time.sleep(0.4)  # what a compiler would take\n"
        b"        seen.add(sizes)\n"
        b"    elif len(seen) > 1:\n"
        b"        raise ValueError('the second case fails, when it has answered once')\n"
        b"    return ref_kernel(data)\n"
    )
    verdict = judge.judge(source, (SMALLEST, EMPTY_GROUP, SMALLEST))
    first_calls_s = [case.first_call_s for case in verdict.cases]
    assert [case.outcome for case in verdict.cases] == ["passed", "crashed", None]
    assert all(first_s is not None and first_s >= 0.4 for first_s in first_calls_s[:2])
    assert first_calls_s[2] is None
