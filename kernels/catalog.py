"""Our kernels by name. Loads neither torch nor triton before a kernel is asked to run."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Any

from kernels.problem import GroupShape

MODULES: Mapping[str, str] = MappingProxyType(
    {
        "dot_scaled": "kernels.dot_scaled_gemm",
        "hopper": "kernels.hopper_gemm",
        "portable": "kernels.portable_gemm",
    }
)
"""The module of each kernel, the fastest first. The last one runs everywhere."""
AUTO = "auto"
"""The first of them that applies."""
_ON_REQUEST = frozenset({"hopper"})
"""Kernels that `auto` passes over: not yet run on a GPU in their present form."""


def candidate_source(name: str) -> bytes:
    """Return the Python source that makes a built-in kernel a submission.

    Raises:
        ValueError: there is no kernel of this name.

    """
    if name == AUTO:
        return b"from kernels.catalog import auto\n\ncustom_kernel = auto()\n"
    if name not in MODULES:
        raise ValueError(f"unknown kernel {name!r}; known: {', '.join((AUTO, *MODULES))}")
    return f"from {MODULES[name]} import custom_kernel\n".encode()


def auto() -> Callable[[Any], Any]:
    """Return an entry point that runs each call on the best kernel for it."""
    import torch  # noqa: PLC0415

    capability = torch.cuda.get_device_capability()
    modules = [import_module(MODULES[name]) for name in MODULES if name not in _ON_REQUEST]

    def custom_kernel(data: Any) -> Any:  # noqa: ANN401
        groups = [GroupShape(*size[:3]) for size in data[3]]
        return _best(modules, groups, capability).custom_kernel(data)

    return custom_kernel


def _best(
    modules: Sequence[ModuleType], groups: Sequence[GroupShape], capability: tuple[int, int]
) -> ModuleType:
    return next(module for module in modules if module.applies(groups, capability) is None)
