"""The kernels on a real device, as the judge calls them. Needs a GPU."""

from importlib import import_module

import pytest
import torch

from kernels.catalog import MODULES, auto
from kernels.compare import compare
from kernels.layout import submission_data
from kernels.operands import draw
from kernels.problem import Case
from tests.kernels.kernel_cases import ANY, MANY_GROUPS, MOST_GROUPS, OFFICIAL

CASES = OFFICIAL | ANY | {"many_groups": MANY_GROUPS, "most_groups": MOST_GROUPS}

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.timeout(240),
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@pytest.fixture(params=["auto", *MODULES])
def kernel(request: pytest.FixtureRequest):
    if request.param == "auto":
        return auto()
    module = import_module(MODULES[request.param])
    reason = module.applies([], torch.cuda.get_device_capability())
    if reason is not None:
        pytest.skip(reason)
    return module.custom_kernel


@pytest.mark.parametrize("name", CASES)
def test_a_kernel_is_right_on_a_gpu(kernel, name: str) -> None:
    case: Case = CASES[name]
    operands = [group.to("cuda") for group in draw(case, seed=1)]
    outputs = [
        torch.full((m, n), float("nan"), dtype=torch.float16, device="cuda")
        for m, n, _ in case.groups
    ]
    returned = kernel(submission_data(operands, outputs))
    torch.cuda.synchronize()
    found = compare(
        [tensor[..., 0] for tensor in returned],
        operands,
        official=case.distribution == "official",
    )
    assert found.worst is None
    assert found.bit_exact or case.distribution != "official"
