"""Serves a parent: one JSON object a line each way.

`{"kernel", "case", "seed", "problem"}` answers what comparing the kernel's outputs found,
`{"source"}` answers what the source leaves in `answer`.
"""

import importlib
import importlib.util
import json
import sys
import traceback
from dataclasses import asdict
from typing import Any

import torch

from kernels import emulation
from kernels.compare import compare
from kernels.layout import Layout, fill, handed_over
from kernels.operands import draw
from kernels.problem import Case, ConstantOperands
from kernels.problems import PROBLEMS


def _compare(kernel: str, case: dict[str, Any], seed: int, problem: str) -> dict[str, Any]:
    if isinstance(case["distribution"], dict):
        case["distribution"] = ConstantOperands(**_tuples(case["distribution"]))
    asked = Case(**_tuples(case))
    chosen = PROBLEMS[problem]
    operands = draw(asked, seed, problem=chosen)
    layout = Layout.of(chosen, asked)
    groups = [layout.tensors(shape, _memory, _memory) for shape in asked.groups]
    fill(groups, operands)
    for group in groups:
        group.output.fill_(float("nan"))
    data, given = handed_over(chosen, groups)
    returned = _load(kernel).custom_kernel(data)
    outputs = returned if chosen.grouped else [returned]
    assert [type(tensor) for tensor in outputs] == [torch.Tensor] * len(given)
    assert [tensor.shape for tensor in outputs] == [tensor.shape for tensor in given]
    got = [entry for tensor in outputs for entry in tensor.permute(2, 0, 1)]
    official = asked.distribution == "official"
    return asdict(compare(got, operands, official=official, problem=chosen))


def _memory(shape: tuple[int, ...]) -> torch.Tensor:
    return torch.empty(shape, dtype=torch.uint8)


def _load(kernel: str) -> Any:
    if not kernel.endswith(".py"):
        return importlib.import_module(kernel)
    spec = importlib.util.spec_from_file_location("submission", kernel)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _tuples(values: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}


def _run(source: str) -> Any:
    names: dict[str, Any] = {}
    exec(source, names)
    return names["answer"]


def _serve() -> None:
    emulation.install()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = {"answer": _run(**request) if "source" in request else _compare(**request)}
        except Exception:
            reply = {"error": traceback.format_exc()}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
