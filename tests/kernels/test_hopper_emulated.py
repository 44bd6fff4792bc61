"""The Hopper kernels on a CPU. What is asynchronous on a GPU happens there as late as it may."""

import ctypes
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kernels import hopper_records
from kernels.hopper_plan import Plan, candidates
from kernels.problem import Case, GroupShape
from tests.kernels.hopper_emulation import EmulatedKernels, KernelFailed
from tests.kernels.kernel_cases import ANY, OFFICIAL

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")

WIDTHS = (16, 32, 64, 128)
RUNNABLE = {
    name: case
    for name, case in {**ANY, "official_3": OFFICIAL["official_3"]}.items()
    if any(case.m) and all(k % 32 == 0 for k in case.k)
}


@pytest.fixture(scope="session")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> EmulatedKernels:
    return EmulatedKernels(tmp_path_factory.mktemp("hopper"), WIDTHS)


def plan_for(blocks: int, *, cut: bool) -> Callable[[Sequence[GroupShape]], Plan]:
    """Choose the plan with the most cuts, or the fastest one without."""

    def make(shapes: Sequence[GroupShape]) -> Plan:
        plans = [plan for plan in candidates(shapes, blocks) if plan.widths == WIDTHS]
        if cut:
            return max(plans, key=lambda plan: plan.cuts)
        return min((plan for plan in plans if not plan.cuts), key=lambda plan: plan.predicted_ns)

    return make


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("problem_bytes", ctypes.sizeof(hopper_records.ProblemRecord)),
        ("groups_bytes", ctypes.sizeof(hopper_records.GroupsRecord)),
        ("shared_bytes", hopper_records.SHARED_BYTES),
        ("threads", hopper_records.THREADS),
        ("decode_threads", hopper_records.DECODE_THREADS),
        ("decode_shared_bytes", hopper_records.DECODE_SHARED_BYTES),
    ],
)
def test_host_and_source_agree_on(kernels: EmulatedKernels, name: str, value: int) -> None:
    assert kernels.constant(name) == value


@pytest.mark.parametrize(("blocks", "cut"), [(2, False), (5, True)])
@pytest.mark.parametrize("name", RUNNABLE)
def test_every_case_is_within_the_bound(
    kernels: EmulatedKernels, name: str, blocks: int, cut: bool
) -> None:
    found = kernels.compare(RUNNABLE[name], plan_for(blocks, cut=cut))
    assert found.within_bound, found.worst


def test_a_tile_shared_by_many_blocks_is_exact(kernels: EmulatedKernels) -> None:
    case = Case((40,), (128,), (4096,))
    plan = plan_for(9, cut=True)
    assert plan(case.groups).cuts >= 7
    assert kernels.compare(case, plan).bit_exact


def test_more_groups_than_fit_the_parameters_are_read_from_a_table(
    kernels: EmulatedKernels,
) -> None:
    case = Case((1, 17) * 20, (4200, 8) * 20, (32, 96) * 20)
    assert len(case.groups) > hopper_records.GROUPS
    assert kernels.compare(case, plan_for(150, cut=False)).within_bound


def replaced(old: str, new: str) -> Callable[[str], str]:
    def change(source: str) -> str:
        assert source.count(old) == 1, f"{source.count(old)} times: {old}"
        return source.replace(old, new)

    return change


FAULTS = {
    "a_slot_is_given_back_while_it_is_read": replaced(
        "part == 0 && unit == 1", "part == 0 && unit == 0"
    ),
    "registers_are_overwritten_while_they_are_read": replaced(
        "wgmma_wait<1>();", "wgmma_wait<2>();"
    ),
    "a_stage_is_read_before_it_is_full": replaced(
        "barrier_wait(me.rings.stage_full(me.stage.at), me.stage.parity);", ""
    ),
    "a_slot_is_never_given_back": replaced(
        "if (me.leads) barrier_arrive(me.rings.slot_empty((me.slot.at + SLOTS - 1) % SLOTS));\n}",
        "}",
    ),
    "c_is_read_before_all_warps_have_put_it_there": replaced(
        "        sync_threads(1 + threadIdx.x / 128, 128);\n#pragma unroll",
        "        __syncwarp();\n#pragma unroll",
    ),
    "zeros_past_k_are_forgotten": replaced("store_zeros16(to + B_SCALES + byte);", ";"),
    "sums_of_others_are_forgotten": replaced(
        "for (int i = tile.item.sharers; i > 0; --i)", "if (0) for (int i = 1;;)"
    ),
}
DEMANDING = Case((70, 130), (200, 72), (800, 2048), distribution="full_range", poison_padding=True)


@pytest.mark.parametrize("fault", FAULTS)
def test_the_emulator_notices_that(fault: str, tmp_path: Path) -> None:
    faulty = EmulatedKernels(tmp_path, WIDTHS, FAULTS[fault])
    assert not all(
        is_right(faulty, plan) for plan in (plan_for(1, cut=False), plan_for(5, cut=True))
    )


def is_right(kernels: EmulatedKernels, plan: Callable[[Sequence[GroupShape]], Plan]) -> bool:
    try:
        return kernels.compare(DEMANDING, plan).within_bound
    except KernelFailed:
        return False
