"""Serves a parent: one JSON object a line each way.

`{"kernel", "case", "seed"}` answers what comparing the kernel's outputs found, `{"source"}` answers
what the source leaves in `answer`.
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
from kernels.layout import submission_data
from kernels.operands import draw
from kernels.problem import Case, ConstantOperands


def _compare(kernel: str, case: dict[str, Any], seed: int) -> dict[str, Any]:
    if isinstance(case["distribution"], dict):
        case["distribution"] = ConstantOperands(**_tuples(case["distribution"]))
    asked = Case(**_tuples(case))
    operands = draw(asked, seed)
    outputs = [torch.full((m, n), float("nan"), dtype=torch.float16) for m, n, _ in asked.groups]
    data = submission_data(operands, outputs)
    returned = _load(kernel).custom_kernel(data)
    assert [type(tensor) for tensor in returned] == [torch.Tensor] * len(outputs)
    assert [tensor.shape for tensor in returned] == [(m, n, 1) for m, n, _ in asked.groups]
    got = [tensor[..., 0] for tensor in returned]
    return asdict(compare(got, operands, official=asked.distribution == "official"))


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
