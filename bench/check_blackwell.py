"""Compile our kernels for Blackwell on a machine without one, and check what came out.

    .venv/bin/python bench/check_blackwell.py [SUBMISSION.py ...]

Every form a kernel has is launched through its own entry point, compiled for sm_100a, sm_103a and
sm_120a, and must use the instruction it was written for, fit tensor and shared memory, and spill no
register. A submission must do so too, at the sizes of an official test; what it spills is only
reported. Nothing is run: this says nothing about results or speed. Ends with 1 if a check fails.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import torch

from kernels.catalog import MODULES
from kernels.compilation import CompiledFacts, compiling_for, facts
from kernels.layout import submission_data
from kernels.operands import draw
from kernels.problem import Case
from kernels.problems import NVFP4_GROUP_GEMM
from kernels.stand_in import shared_memory_bytes

TARGETS = ((10, 0), (10, 3), (12, 0))
TENSOR_MEMORY_COLUMNS = 512
FP4 = "kind::mxf4nvf4.block_scale"


@dataclass(frozen=True, slots=True)
class Form:
    """Sizes that make a kernel take one of its forms, and the instruction expected of it."""

    kernel: str
    """A built-in kernel or the path of a submission."""
    what: str
    case: Case
    instruction: str
    may_spill: bool = False


def _case(m: int, n: int, k: int, groups: int) -> Case:
    return Case((m,) * groups, (n,) * groups, (k,) * groups)


FORMS = (
    Form("dot_scaled", "8 groups", _case(128, 128, 256, 8), FP4),
    Form("dot_scaled", "17 groups", _case(8, 8, 32, 17), FP4),
    Form("dot_scaled", "1024 groups", _case(1, 8, 32, 1024), FP4),
    Form("dot_scaled", "k = 272, n = 100", _case(8, 100, 272, 2), FP4),
    Form("portable", "m = 128", _case(128, 128, 256, 8), "mma"),
    Form("portable", "m = 16", _case(16, 128, 256, 8), "mma"),
    Form("portable", "k = 272", _case(128, 128, 272, 2), "mma"),
    Form("portable", "1024 groups", _case(1, 8, 32, 1024), "mma"),
)


def entry_point(kernel: str) -> Callable[[Any], Any]:
    """Return the entry point of a built-in kernel or of a file."""
    if kernel in MODULES:
        found = import_module(MODULES[kernel])
    else:
        spec = spec_from_file_location("submission", kernel)
        assert spec is not None
        assert spec.loader is not None
        found = module_from_spec(spec)
        sys.modules[spec.name] = found
        spec.loader.exec_module(found)
    entry: Callable[[Any], Any] = found.custom_kernel
    return entry


def compile_form(form: Form, capability: tuple[int, int]) -> list[CompiledFacts]:
    """Return the facts of every kernel that one call launches."""
    outputs = [torch.empty(m, n, dtype=torch.float16) for m, n, _ in form.case.groups]
    data = submission_data(draw(form.case, seed=0), outputs)
    with compiling_for(capability) as compiled:
        entry_point(form.kernel)(data)
    return [facts(kernel) for kernel in compiled]


def faults(found: CompiledFacts, form: Form, capability: tuple[int, int]) -> list[str]:
    """Return what is wrong with a compiled kernel, in words."""
    shared_limit = shared_memory_bytes(capability)
    checks = {
        f"no {form.instruction} instruction": any(
            form.instruction in instruction for instruction in found.instructions
        ),
        f"more than {TENSOR_MEMORY_COLUMNS} columns of tensor memory": (
            found.tensor_memory_columns <= TENSOR_MEMORY_COLUMNS
        ),
        f"more than {shared_limit} bytes of shared memory": found.shared_bytes <= shared_limit,
        "spills registers": form.may_spill or found.local_accesses + found.stack_bytes == 0,
    }
    return [fault for fault, holds in checks.items() if not holds]


def main(submissions: Sequence[str]) -> int:
    """Compile, check and report everything; return the exit status."""
    wrong = 0
    official = NVFP4_GROUP_GEMM.tests[3]
    theirs = [Form(path, "official test", official, FP4, may_spill=True) for path in submissions]
    for capability in TARGETS:
        for form in (*FORMS, *theirs):
            found = compile_form(form, capability)
            complaints = [fault for one in found for fault in faults(one, form, capability)]
            if not found:
                complaints.append("nothing was compiled")
            wrong += len(complaints)
            for one in found:
                report(one, form)
            for complaint in complaints:
                print(f"    WRONG: {complaint}")
    print(f"{wrong} faults" if wrong else "all as expected; nothing was run")
    return 1 if wrong else 0


def report(found: CompiledFacts, form: Form) -> None:
    """Print one line for a compiled kernel."""
    instructions = ", ".join(f"{count} x {name}" for name, count in found.instructions.items())
    print(
        f"{found.target}a {Path(form.kernel).stem} ({form.what}): {found.registers} registers, "
        f"{found.local_accesses} local accesses, {found.shared_bytes} B shared, "
        f"{found.tensor_memory_columns} TMEM columns, TMA {'yes' if found.tma else 'no'}; "
        f"{instructions}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
