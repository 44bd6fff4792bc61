"""What the benchmark of kernels says without a GPU."""

import json

import pytest

from bench.draw_kernel_times import picture
from bench.kernel_times import CASES, floor_of
from tests.kernels.in_emulation import ROOT

KEPT = json.loads((ROOT / "bench" / "results" / "h200" / "kernels.json").read_text())


@pytest.mark.parametrize("name", CASES)
def test_the_kept_floors_are_those_of_today(name: str) -> None:
    assert floor_of(CASES[name], "NVIDIA H200") == pytest.approx(KEPT["cases"][name]["floor_us"])


def test_the_picture_in_the_docs_is_the_one_of_the_kept_times() -> None:
    assert picture(KEPT) == (ROOT / "docs" / "kernel_times.svg").read_text()
