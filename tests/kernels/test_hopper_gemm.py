"""What the Hopper kernel takes and refuses, and, on such a GPU, what it computes."""

from contextlib import nullcontext

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernels import hopper_gemm
from kernels.compare import compare
from kernels.group_table import GroupTable
from kernels.hopper_device import HopperDevice
from kernels.hopper_gemm import applies, custom_kernel, why_portable
from kernels.layout import submission_data
from kernels.nvrtc import CompileError
from kernels.operands import draw
from kernels.problem import Case, GroupShape
from kernels.problems import NVFP4_GROUP_GEMM
from tests.kernels.kernel_cases import ANY, MANY_GROUPS, MOST_GROUPS, OFFICIAL

HOPPER = (9, 0)


def on_hopper() -> bool:
    return torch.cuda.is_available() and torch.cuda.get_device_capability() == HOPPER


hopper = pytest.mark.skipif(not on_hopper(), reason="needs a GPU of compute capability 9.0")


@pytest.fixture
def bindings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hopper_gemm, "has_bindings", lambda: True)


@pytest.mark.usefixtures("bindings")
@pytest.mark.parametrize(
    ("shape", "capability", "reason"),
    [
        (GroupShape(1, 1, 32), HOPPER, None),
        (GroupShape(1, 1, 32), (8, 0), "needs compute capability 9.0: the products are wgmma"),
        (GroupShape(1, 1, 32), (10, 0), "needs compute capability 9.0: the products are wgmma"),
        (
            GroupShape(1, 1, 48),
            HOPPER,
            "needs k a multiple of 32: packed rows of B are copied in pieces of 16 bytes",
        ),
        (
            GroupShape(1 << 20, 1, 32),
            HOPPER,
            "counts tiles in 16 bits: no extent may exceed 524288",
        ),
    ],
)
def test_it_says_why_it_does_not_apply(
    shape: GroupShape, capability: tuple[int, int], reason: str | None
) -> None:
    assert applies([shape], capability) == reason


@pytest.mark.usefixtures("bindings")
def test_where_a_device_is_imitated_it_does_not_apply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hopper_gemm, "imitates", lambda: True)
    reason = applies([GroupShape(1, 1, 32)], HOPPER)
    assert reason is not None
    assert reason.startswith("needs a GPU")


def test_without_bindings_it_does_not_apply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hopper_gemm, "has_bindings", lambda: False)
    assert applies([], HOPPER) == "needs cuda-bindings, which PyTorch for CUDA brings along"


@pytest.mark.usefixtures("bindings")
@pytest.mark.parametrize(
    ("addresses", "taken"),
    [
        ((4, 16, 1, 32, 2), True),
        ((2, 16, 16, 32, 16), False),
        ((16, 8, 16, 32, 16), False),
        ((16, 16, 16, 8, 16), False),
    ],
)
def test_starts_that_the_copy_engine_cannot_take_go_to_the_portable_kernel(
    addresses: tuple[int, ...], taken: bool
) -> None:
    table = GroupTable((GroupShape(1, 1, 32),), (addresses,), torch.device("cuda", 0))
    assert (why_portable(table, HOPPER) is None) == taken


def test_what_cannot_be_built_is_tried_once_and_left_to_the_portable_kernel(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = []

    def plan(shapes: tuple[GroupShape, ...]) -> None:
        tried.append(shapes)
        raise CompileError("no such architecture")

    device = object.__new__(HopperDevice)
    device._lacks, device._device, device._planned = None, 0, plan
    monkeypatch.setattr(torch.cuda, "device", lambda index: nullcontext())
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: HOPPER)
    table = GroupTable((GroupShape(1, 1, 32),), ((16,) * 5,), torch.device("cuda", 0))
    for name, stand_in in {
        "read_groups": lambda data: table,
        "why_portable": lambda groups, capability: None,
        "device_of": lambda index: device,
    }.items():
        monkeypatch.setattr(hopper_gemm, name, stand_in)
    monkeypatch.setattr(hopper_gemm.portable_gemm, "custom_kernel", lambda data: [data])
    assert [custom_kernel(number) for number in (1, 2)] == [[1], [2]]
    assert len(tried) == 1
    assert "hopper cannot be built here: no such architecture" in capsys.readouterr().err


def run(case: Case, seed: int = 1) -> None:
    """Run a case on the GPU twice and hold both answers to the bound."""
    operands = [group.to("cuda") for group in draw(case, seed)]
    outputs = [torch.empty(m, n, dtype=torch.float16, device="cuda") for m, n, _ in case.groups]
    data = submission_data(operands, outputs)
    for _ in range(2):
        for output in outputs:
            output.fill_(torch.nan)
        custom_kernel(data)
        found = compare(outputs, operands, official=case.distribution == "official")
        assert found.within_bound, found.worst


@hopper
@pytest.mark.gpu
@pytest.mark.parametrize("name", [*OFFICIAL, *ANY])
def test_every_case_is_within_the_bound(name: str) -> None:
    run({**OFFICIAL, **ANY}[name])


@hopper
@pytest.mark.gpu
@pytest.mark.parametrize(
    "case",
    [*NVFP4_GROUP_GEMM.benchmarks, MANY_GROUPS, MOST_GROUPS],
    ids=lambda case: f"{len(case.m)}-groups-n{case.n[0]}-k{case.k[0]}",
)
def test_large_cases_are_within_the_bound(case: Case) -> None:
    run(case)


@st.composite
def any_sizes(draw: st.DrawFn) -> Case:
    groups = draw(st.integers(1, 12))

    def of_each(low: int, high: int, step: int = 1) -> tuple[int, ...]:
        return tuple(draw(st.integers(low, high)) * step for _ in range(groups))

    distribution = draw(st.sampled_from(["official", "full_range"]))
    poison = draw(st.booleans())
    m, n, k = of_each(0, 300), of_each(1, 600), of_each(1, 128, 16)
    return Case(m, n, k, distribution=distribution, poison_padding=poison)


@hopper
@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.timeout(600)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(any_sizes(), st.integers(0, 1 << 30))
def test_any_sizes_are_within_the_bound(case: Case, seed: int) -> None:
    run(case, seed)


@hopper
@pytest.mark.gpu
def test_calls_on_two_streams_do_not_meet() -> None:
    case = NVFP4_GROUP_GEMM.benchmarks[2]
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    answers = []
    for seed, stream in enumerate(streams):
        with torch.cuda.stream(stream):
            operands = [group.to("cuda") for group in draw(case, seed)]
            outputs = [
                torch.empty(m, n, dtype=torch.half, device="cuda") for m, n, _ in case.groups
            ]
            answers.append((operands, outputs, submission_data(operands, outputs)))
    torch.cuda.synchronize()
    for _ in range(20):
        for stream, (_, _, data) in zip(streams, answers, strict=True):
            with torch.cuda.stream(stream):
                custom_kernel(data)
    torch.cuda.synchronize()
    for operands, outputs, _ in answers:
        assert compare(outputs, operands, official=True).within_bound


@hopper
@pytest.mark.gpu
def test_a_captured_call_can_be_replayed_with_other_operands() -> None:
    case = NVFP4_GROUP_GEMM.benchmarks[3]
    operands = [group.to("cuda") for group in draw(case, 1)]
    outputs = [torch.empty(m, n, dtype=torch.half, device="cuda") for m, n, _ in case.groups]
    data = submission_data(operands, outputs)
    custom_kernel(data)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        custom_kernel(data)
    for group, other in zip(operands, draw(case, 2), strict=True):
        for name in group.__slots__:
            getattr(group, name).copy_(getattr(other, name))
    graph.replay()
    torch.cuda.synchronize()
    assert compare(outputs, operands, official=True).within_bound
