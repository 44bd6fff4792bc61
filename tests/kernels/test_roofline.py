import pytest

from kernels.problem import Case
from kernels.problems import NVFP4_GROUP_GEMM
from kernels.roofline import DEVICES, bytes_moved, find_device, floor_us, speed_of_light_us

BENCHMARKS = NVFP4_GROUP_GEMM.benchmarks


@pytest.mark.parametrize(
    ("case", "expected_us"), list(zip(BENCHMARKS, (76.1, 38.1, 16.3, 8.2), strict=True))
)
def test_the_speed_of_light_of_an_h200_is_that_of_its_measured_float16_rate(case, expected_us):
    assert speed_of_light_us(case, "NVIDIA H200") == pytest.approx(expected_us, abs=0.06)


@pytest.mark.parametrize(
    ("case", "published_us"), list(zip(BENCHMARKS, (18.833, 10.667, 2.406, 1.525), strict=True))
)
def test_the_competition_counts_the_same_bytes(case, published_us):
    """Its speed of light for a B200 is exactly our bytes at 7.68 TB/s, 96 % of the datasheet."""
    assert bytes_moved(case) / 7.68e6 == pytest.approx(published_us, rel=1e-3)
    assert speed_of_light_us(case, "NVIDIA B200") == pytest.approx(0.96 * published_us, rel=1e-3)


def test_bytes_are_codes_scales_and_outputs_once():
    case = Case(m=(2, 3), n=(4, 5), k=(16, 64))
    a_and_b = (2 + 4) * 8 + (3 + 5) * 32
    scales = (2 + 4) * 1 + (3 + 5) * 4
    outputs = 2 * 4 * 2 + 3 * 5 * 2
    assert bytes_moved(case) == a_and_b + scales + outputs


def test_an_empty_group_moves_nothing():
    assert bytes_moved(Case(m=(0,), n=(4096,), k=(7168,))) == 0
    assert speed_of_light_us(Case(m=(0,), n=(4096,), k=(7168,)), "H200") == 0


def test_thin_groups_are_bound_by_memory_and_thick_ones_by_multiplication():
    thin = Case(m=(1,), n=(7168,), k=(7168,))
    thick = Case(m=(4096,), n=(4096,), k=(4096,))
    assert speed_of_light_us(thin, "H200") == pytest.approx(bytes_moved(thin) / 4.3e6)
    assert speed_of_light_us(thick, "H200") == pytest.approx(thick.flops / 790e6)


@pytest.mark.parametrize("case", BENCHMARKS)
@pytest.mark.parametrize("name", [word for word, _ in DEVICES])
def test_the_floor_is_never_above_the_speed_of_light(case, name):
    assert 0 < floor_us(case, name) <= speed_of_light_us(case, name)


def test_a_b200_was_never_measured():
    assert find_device("NVIDIA B200").measured is None
    assert find_device("NVIDIA H200").measured is not None


@pytest.mark.parametrize("name", ["cpu", "NVIDIA GeForce RTX 5090", "NVIDIA GB200", ""])
def test_an_unknown_device_has_no_speed_of_light(name):
    assert speed_of_light_us(BENCHMARKS[0], name) is None
    assert floor_us(BENCHMARKS[0], name) is None
