"""Helpers that competition files import from `utils`. They judge nothing: the judge does."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch


def set_seed(seed: int = 42) -> None:
    """Seed every generator a file may use."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def get_device(use_cuda: bool = True) -> torch.device:
    """Return the device that operands lie on."""
    return torch.device("cuda" if use_cuda and torch.cuda.is_available() else "cpu")


@torch.no_grad()
def verbose_allclose(
    received: torch.Tensor,
    expected: torch.Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    max_print: int = 5,
) -> list[str]:
    """Return a line for each of the first places that differ, none where the tensors agree."""
    if received.shape != expected.shape:
        return [f"shape {tuple(received.shape)}, expected {tuple(expected.shape)}"]
    close = torch.isclose(received.double(), expected.double(), rtol=rtol, atol=atol)
    places = torch.nonzero(~close).tolist()
    lines = [
        f"at {tuple(place)}: {received[tuple(place)].item()}, "
        f"expected {expected[tuple(place)].item()}"
        for place in places[:max_print]
    ]
    return [f"{len(places)} elements differ", *lines] if places else []


def make_match_reference(
    reference: Callable[[Any], Any], rtol: float = 1e-05, atol: float = 1e-08
) -> Callable[[Any, Any], tuple[bool, str]]:
    """Return a function that compares an output, one tensor or several, with a reference's."""

    def check(data: Any, output: Any) -> tuple[bool, str]:  # noqa: ANN401
        expected = reference(data)
        if isinstance(expected, torch.Tensor):
            lines = verbose_allclose(output, expected, rtol, atol)
            return not lines, "; ".join(lines)
        if len(output) != len(expected):
            return False, f"{len(output)} tensors, expected {len(expected)}"
        for index, (ours, theirs) in enumerate(zip(output, expected, strict=True)):
            if lines := verbose_allclose(ours, theirs, rtol, atol):
                return False, f"group {index}: " + "; ".join(lines)
        return True, ""

    return check
