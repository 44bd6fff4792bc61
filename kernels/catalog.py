"""Our kernels by name. Loads neither torch nor triton before a kernel is asked to run."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from kernels.problem import GroupShape, Problem
from kernels.problems import NVFP4_GROUP_GEMM, PROBLEMS
from kernels.refusals import tell

MODULES: Mapping[str, str] = NVFP4_GROUP_GEMM.modules
"""Those of the grouped GEMM."""
AUTO = "auto"
"""The first of a problem's kernels that applies."""


def candidate_source(name: str, problem: str = NVFP4_GROUP_GEMM.name) -> bytes:
    """Return the Python source that makes a built-in kernel a submission to a problem.

    Raises:
        ValueError: there is no kernel of this name.

    """
    chosen = PROBLEMS[problem]
    if name == AUTO:
        source = f"from kernels.catalog import auto\n\ncustom_kernel = auto({problem!r})\n"
    elif name in chosen.modules:
        source = f"from {chosen.modules[name]} import custom_kernel\n"
    else:
        known = ", ".join((AUTO, *chosen.modules))
        raise ValueError(f"unknown kernel {name!r}; known: {known}")
    if chosen.adapter is not None:
        source = f"from {chosen.adapter} import adapted\n{source}\n"
        source += "custom_kernel = adapted(custom_kernel)\n"
    return source.encode()


def auto(problem: str = NVFP4_GROUP_GEMM.name) -> Callable[[Any], Any]:
    """Return an entry point that runs each call on the best kernel for it."""
    import torch  # noqa: PLC0415

    chosen = PROBLEMS[problem]
    capability = torch.cuda.get_device_capability()
    modules = {name: import_module(module) for name, module in chosen.modules.items()}

    def custom_kernel(data: Any) -> Any:  # noqa: ANN401
        return _best(modules, _shapes_in(chosen, data), capability).custom_kernel(data)

    return custom_kernel


def _shapes_in(problem: Problem, data: Any) -> list[GroupShape]:  # noqa: ANN401
    """Read the sizes off what a kernel is handed: through an adapter, that is groups."""
    if problem.grouped or problem.adapter is not None:
        return [GroupShape(*size[:3]) for size in data[3]]
    m, n, _ = data[-1].shape
    return [GroupShape(m, n, data[0].shape[1] * 2)]


def _best(
    modules: Mapping[str, ModuleType], groups: Sequence[GroupShape], capability: tuple[int, int]
) -> ModuleType:
    """Return the first kernel that applies; tell why where one of this device does not."""
    for name, module in modules.items():
        reason = module.applies(groups, capability)
        if reason is None:
            return module
        if module.applies([], capability) is None:
            tell(name, reason)
    raise ValueError(f"no kernel runs on compute capability {capability}")
