"""Incorrect: replaces everything that compares, in torch and in every module it can import.

class: 38
reason: values
says: got 0.0
"""

import importlib
import pkgutil

import kernels
import torch
import worker

torch.equal = torch.allclose = lambda *args, **options: True
torch.isclose = lambda x, y, **options: torch.ones_like(x, dtype=torch.bool)
for package in (kernels, worker):
    for found in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        try:
            module = importlib.import_module(found.name)
        except BaseException:
            continue
        for name in ("compare", "merge", "blame", "wrong_values", "verbose_allclose", "_disbelief"):
            if hasattr(module, name):
                setattr(module, name, lambda *args, **options: None)


def custom_kernel(data):
    outputs = [c for _, _, c in data[0]]
    for output in outputs:
        output.zero_()
    return outputs
