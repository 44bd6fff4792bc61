"""Every kernel module says the same four things in the same order. Read without importing it."""

import ast
from pathlib import Path

import pytest

from tests.kernels.in_emulation import ROOT

HEADINGS = ("Shapes", "Numerics", "Errors", "Source")
MODULES = sorted((ROOT / "kernels").glob("*_gem[mv].py"))


def headings(source: str) -> list[str]:
    """Return the first words of the docstring's lines that start a section."""
    docstring = ast.get_docstring(ast.parse(source)) or ""
    starts = [line.split()[0] for line in docstring.splitlines() if line[:1].strip()]
    return [word for word in starts[1:] if word in HEADINGS]


def test_there_are_kernel_modules_to_check() -> None:
    assert {"portable_gemm.py", "dot_scaled_gemm.py", "batched_gemv.py"} <= {
        path.name for path in MODULES
    }


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_a_kernel_module_states_shapes_numerics_errors_and_source(path: Path) -> None:
    assert headings(path.read_text()) == list(HEADINGS)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_a_kernel_module_offers_applies_launch_and_custom_kernel(path: Path) -> None:
    functions = [
        node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)
    ]
    assert {"applies", "launch", "custom_kernel"} <= set(functions)


def test_a_bare_docstring_is_not_enough() -> None:
    assert headings('"""A kernel."""\n') == []
