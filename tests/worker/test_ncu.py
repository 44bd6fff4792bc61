"""Nsight Compute's CSV as facts: whatever else it prints, and however little."""

from itertools import pairwise
from pathlib import Path

import pytest

from tests.worker.ncu_stand_in import COLUMNS, csv
from worker.ncu import MOST_KERNELS, find_ncu, folders_of, kernels_of, take

FACTS = {
    "registers": 168,
    "shared_bytes": 99_328,
    "occupancy": 0.3125,
    "theoretical_occupancy": 0.375,
    "gbytes_per_s": 2150.0,
    "tensor_pipe": 0.44,
}


def test_kernels_belong_to_the_case_whose_mark_is_before_them() -> None:
    found = kernels_of(csv(2))
    assert [(each["case"], each["name"], each["duration_us"]) for each in found] == [
        (0, "gemm", 80.0),
        (0, "split", 20.0),
        (1, "gemm", 80.0),
        (1, "split", 20.0),
    ]
    assert {name: found[0][name] for name in FACTS} == pytest.approx(FACTS)


@pytest.mark.parametrize(("unit", "value"), [("us", "80"), ("msecond", "0.08"), ("ns", "80000.0")])
def test_durations_are_microseconds_whatever_they_are_printed_in(unit: str, value: str) -> None:
    text = csv(1).replace('"ns"', f'"{unit}"').replace('"80,000"', f'"{value}"')
    assert kernels_of(text)[0]["duration_us"] == pytest.approx(80)


@pytest.mark.parametrize(
    ("unit", "value"), [("byte/second", "2.15e12"), ("byte/s", "2.15e12"), ("Tbyte/s", "2.15")]
)
def test_rates_are_gigabytes_a_second_whatever_they_are_printed_in(unit: str, value: str) -> None:
    text = csv(1).replace('"byte/s"', f'"{unit}"').replace('"2,150,000,000,000"', f'"{value}"')
    assert kernels_of(text)[0]["gbytes_per_s"] == pytest.approx(2150)


def test_a_figure_of_an_unknown_unit_is_left_out() -> None:
    first = kernels_of(csv(1).replace('"byte/s"', '"furlong"'))[0]
    assert first["gbytes_per_s"] is None
    assert first["occupancy"] == 0.3125


def test_a_figure_that_is_not_there_is_null() -> None:
    text = csv(1).replace('"88.0"', '"n/a"').replace("launch__registers", "launch__rgstrs")
    first = kernels_of(text)[0]
    assert (first["tensor_pipe"], first["registers"]) == (None, None)
    assert first["occupancy"] == 0.3125


def test_tensor_cores_are_idle_where_an_sm_has_no_work() -> None:
    """On an H200 32 of 132 SMs had work. Cycles and `.max` were seen; `.avg` follows from them."""
    text = csv(1).replace('"88.0"', '"23.12"').replace('"99.0"', '"95.36"')
    text = text.replace('"70,000"', '"12885.58"').replace('"140,000"', '"57547"')
    flops = 2 * 128 * 4096 * 1536
    by_arithmetic = flops / (57547 * 132 * 4096)
    assert kernels_of(text)[0]["tensor_pipe"] == pytest.approx(by_arithmetic, rel=0.01)


def test_the_busiest_of_the_tensor_pipes_counts() -> None:
    """On Blackwell the fifth generation has a name of its own."""
    for_tc = csv(1).replace("sm__pipe_tensor_cycles_active", "sm__pipe_tc_cycles_active")
    assert kernels_of(for_tc)[0]["tensor_pipe"] == pytest.approx(0.44)
    neither = csv(1).replace("sm__pipe_tensor", "sm__pipe_alu")
    assert kernels_of(neither)[0]["tensor_pipe"] is None
    endless = csv(1).replace('"140,000"', '"0"')
    assert kernels_of(endless)[0]["tensor_pipe"] is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "==ERROR== nothing was profiled",
        '"ID",',
        '"ID","Kernel Name"\n"",""\n"0","gemm"\n',
        csv(1).replace("80,000", "-1").replace("20,000", "inf"),
        csv(1).replace("80,000", "nan").replace("20,000", "much"),
        csv(1).replace('"31.25"', '"31.25","one too many"'),
        "\0" * 100,
    ],
)
def test_what_is_no_kernel_is_left_out(text: str) -> None:
    assert kernels_of(text) == []


def test_a_flood_of_kernels_is_cut() -> None:
    assert len(kernels_of(csv(MOST_KERNELS))) == MOST_KERNELS
    assert len(COLUMNS) > 5


def test_the_program_is_the_one_named_or_the_newest_in_its_usual_place(tmp_path: Path) -> None:
    assert find_ncu("", tmp_path) is None
    for version in ("2024.3.2", "2025.3.1"):
        program = tmp_path / "opt/nvidia/nsight-compute" / version / "ncu"
        program.parent.mkdir(parents=True)
        program.touch()
    assert find_ncu("", tmp_path) == program
    assert find_ncu(str(program), Path("/nowhere")) == program
    assert find_ncu(str(tmp_path / "nothing"), tmp_path) is None
    link = tmp_path / "ncu"
    link.symlink_to(program)
    assert set(folders_of(link)) >= {tmp_path, program.parent}


def test_clocks_are_left_alone_and_only_marked_calls_are_seen() -> None:
    command = take("ncu", Path("/tmp/report"), ["python", "file"])
    pairs = list(pairwise(command))
    assert ("--clock-control", "none") in pairs
    assert ("--profile-from-start", "off") in pairs
    assert command[-2:] == ["python", "file"]
