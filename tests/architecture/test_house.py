"""The shape of the code: size of modules, what is loaded, what a file may say."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("client", "contract", "kernels", "service", "worker")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
LINES = 400
TEST_LINES = 500


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_can_be_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_bytes().splitlines()) <= LINES


def test_a_test_module_can_too() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in (ROOT / "tests").rglob("*.py")
        if (lines := len(path.read_bytes().splitlines())) > TEST_LINES
    }
    assert long == {}


@pytest.mark.parametrize("module", ["service.main", "client.main", "contract.queue", "worker.main"])
def test_a_judge_and_what_it_starts_load_the_gpu_stack_and_nobody_else(module: str) -> None:
    check = f"import sys, {module}; print({{'torch', 'triton', 'numpy'}} & set(sys.modules))"
    found = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "set()"


def test_the_process_that_runs_candidates_loads_no_queue() -> None:
    check = "import sys, worker.runner; print({'contract', 'redis', 'pydantic'} & set(sys.modules))"
    found = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "set()"
