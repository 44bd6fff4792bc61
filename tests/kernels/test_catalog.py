import subprocess
import sys
from pathlib import Path

import pytest

from kernels.catalog import AUTO, MODULES, candidate_source
from kernels.problems import PROBLEMS
from tests.kernels.in_emulation import ROOT, Emulation
from tests.kernels.kernel_cases import OFFICIAL

NAMES = (AUTO, *MODULES)


def test_every_kernel_a_problem_lists_is_in_the_catalog() -> None:
    assert {name for problem in PROBLEMS.values() for name in problem.kernels} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_source_of_a_kernel_is_a_submission(
    emulation: Emulation, name: str, tmp_path: Path
) -> None:
    file = tmp_path / "submission.py"
    file.write_bytes(candidate_source(name))
    assert emulation.compare(str(file), OFFICIAL["official_3"]).bit_exact


def test_an_unknown_kernel_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown kernel 'fast'; known: auto, dot_scaled"):
        candidate_source("fast")


@pytest.mark.parametrize(
    ("capability", "chosen"),
    [((8, 0), "portable"), ((9, 0), "portable"), ((10, 0), "dot_scaled"), ((12, 0), "dot_scaled")],
)
def test_auto_takes_the_first_kernel_that_the_device_can_run(
    emulation: Emulation, capability: tuple[int, int], chosen: str
) -> None:
    answer = emulation.answer(f"""
from importlib import import_module
from kernels.catalog import MODULES, _best
from kernels.problem import GroupShape

modules = {{name: import_module(module) for name, module in MODULES.items()}}
answer = _best(modules, [GroupShape(1, 1, 16)], {capability}).__name__
""")
    assert answer == MODULES[chosen]


def test_auto_takes_the_hopper_kernel_and_tells_when_it_leaves_a_call_to_another(
    emulation: Emulation,
) -> None:
    answer = emulation.answer("""
import contextlib, io
from importlib import import_module
from kernels import hopper_gemm
from kernels.catalog import MODULES, _best
from kernels.problem import GroupShape

hopper_gemm.has_bindings, hopper_gemm.imitates = lambda: True, lambda: False
modules = {name: import_module(module) for name, module in MODULES.items()}
said = io.StringIO()
with contextlib.redirect_stderr(said):
    chosen = [
        _best(modules, [GroupShape(1, 1, k)], (9, 0)).__name__ for k in (32, 16, 16)
    ]
answer = [chosen, said.getvalue()]
""")
    assert answer == [
        [MODULES["hopper"], MODULES["portable"], MODULES["portable"]],
        "hopper needs k a multiple of 32: packed rows of B are copied in pieces of 16 bytes; "
        "the next kernel of the catalog runs this call\n",
    ]


def test_a_kernel_says_why_it_does_not_apply(emulation: Emulation) -> None:
    answer = emulation.answer("""
from kernels import dot_scaled_gemm, portable_gemm
answer = [dot_scaled_gemm.applies([], (9, 0)), portable_gemm.applies([], (7, 5))]
""")
    assert answer == [
        "needs compute capability 10.0 or higher: tensor cores that read block scales",
        "needs compute capability 8.0 or higher",
    ]


def test_the_catalog_loads_without_torch_and_triton() -> None:
    code = "import sys, kernels.catalog; print({'torch', 'triton', 'numpy'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    assert done.stdout.strip() == b"set()"
