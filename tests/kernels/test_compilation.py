"""What is compiled for a GPU that is not there. In a child: the stand-ins stay for good."""

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from kernels.problem import Case
from tests.kernels.in_emulation import ROOT

COMPILE = """
import json
import sys
from dataclasses import asdict
from importlib import import_module

import torch

from kernels.compilation import compiling_for, facts
from kernels.layout import submission_data
from kernels.operands import draw
from kernels.problem import Case

module, *targets = sys.argv[1:]
case = Case(m=(8, 128), n=(8, 128), k=(32, 256))
data = submission_data(draw(case, 1), [torch.empty(g.m, g.n).half() for g in case.groups])
found = []
for target in targets:
    with compiling_for(divmod(int(target), 10)) as compiled:
        import_module(module).custom_kernel(data)
        import_module(module).custom_kernel(data)
    found += [asdict(facts(kernel)) for kernel in compiled]
print(json.dumps(found))
"""


def compiled(module: str, *targets: int) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", COMPILE, module, *map(str, targets)],
        cwd=ROOT,
        env=os.environ | {"TRITON_INTERPRET": "0", "TRITON_DEFAULT_FP_FUSION": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.timeout(240)
def test_the_dot_scaled_kernel_compiles_to_the_block_scaled_instruction() -> None:
    server, workstation = compiled("kernels.dot_scaled_gemm", 100, 120)
    assert [server["target"], workstation["target"]] == ["sm_100", "sm_120"]
    assert list(server["instructions"]) == [
        "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16"
    ]
    (instruction,) = workstation["instructions"]
    assert instruction.startswith("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale")
    assert [found["local_accesses"] for found in (server, workstation)] == [0, 0]
    assert [found["tma"] for found in (server, workstation)] == [True, True]
    assert server["tensor_memory_columns"] == 512
    assert "mxf4nvf4" in server["ptx"]
    assert "UTCOMMA" in server["sass"] or "UTCQMMA" in server["sass"]


@pytest.mark.timeout(240)
def test_the_portable_kernel_compiles_from_ampere_to_blackwell() -> None:
    found = compiled("kernels.portable_gemm", 80, 90, 100, 120)
    assert [one["target"] for one in found] == ["sm_80", "sm_90", "sm_100", "sm_120"]
    assert [one["local_accesses"] for one in found] == [0] * 4
    assert [one["tma"] for one in found] == [False] * 4
    starts = ["mma.sync", "wgmma.mma_async", "tcgen05.mma", "mma.sync"]
    assert [
        next(iter(one["instructions"])).startswith(s) for one, s in zip(found, starts, strict=True)
    ] == ([True] * 4)


@pytest.fixture(scope="module")
def check_blackwell() -> Any:
    spec = importlib.util.spec_from_file_location("check", ROOT / "bench/check_blackwell.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["check"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["check"]


def test_the_blackwell_check_names_every_fault(check_blackwell: Any) -> None:
    form = check_blackwell.Form("dot_scaled", "any", Case((1,), (8,), (32,)), check_blackwell.FP4)
    good = check_blackwell.CompiledFacts(
        name="kernel",
        target="sm_100",
        instructions={"tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16": 4},
        registers=255,
        stack_bytes=0,
        local_accesses=0,
        shared_bytes=227 << 10,
        tensor_memory_columns=512,
        tma=True,
        ptx="",
        sass="",
    )

    def faults(capability: tuple[int, int] = (10, 0), **changed: Any) -> list[str]:
        return check_blackwell.faults(replace(good, **changed), form, capability)

    assert faults() == []
    assert faults(instructions={"tcgen05.mma.cta_group::1.kind::f16": 4}) == [
        "no kind::mxf4nvf4.block_scale instruction"
    ]
    assert faults(tensor_memory_columns=560) == ["more than 512 columns of tensor memory"]
    assert faults(shared_bytes=(227 << 10) + 1) == ["more than 232448 bytes of shared memory"]
    assert faults((12, 0)) == ["more than 101376 bytes of shared memory"]
    assert faults(local_accesses=1) == ["spills registers"]
    assert faults(stack_bytes=8) == ["spills registers"]
