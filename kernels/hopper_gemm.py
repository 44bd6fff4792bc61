"""Grouped NVFP4 GEMM in CUDA C++ for sm_90: decoded to float16 on the way to `wgmma`.

    C[g] = (A[g] * SFA[g]) @ (B[g] * SFB[g]).T          for every group g

Shapes (m, n, k in logical elements of a group; any m >= 0, n >= 1, k a multiple of 32)
    a               float4_e2m1fn_x2  [m, k/2, 1]   E2M1 pairs, the low nibble is the even k
    b               float4_e2m1fn_x2  [n, k/2, 1]   as a
    c               float16           [m, n, 1]     written in full; an empty group writes nothing
    sfa_reordered   float8_e4m3fn     blocked       128 x 4 tiles of 512 bytes
    sfb_reordered   float8_e4m3fn     blocked       as sfa_reordered, with n for m
    Columns of a scale tile past k/16 must be zero; its rows past the operand may hold anything.
    a starts at a multiple of 4 bytes, b and sfb_reordered at multiples of 16. The portable kernel
    runs what this one refuses: another k, another start, another device, no CUDA bindings, no
    working compiler; why is said on stderr, which is in the log of a job.

Numerics
    A code times a scale is exact in float16, the product of two in float32. Sums run in an order of
    k of their own, bit-equal from run to run for the same shapes and device. c is rounded once, to
    nearest even. Scale byte 0x7F is NaN. Error against the reference: see compare.py.

Errors
    ValueError         a shape, dtype or stride above is violated (on the host, before any launch)

Source
    Scale layout: cuBLAS manual, 1D block scaling factors layout. Instructions and fragments: PTX
    ISA, wgmma, cp.async.bulk.tensor, mbarrier, setmaxnreg, griddepcontrol. Order of k, rings and
    items: kernels/hopper/gemm.cu, which says why.
"""

from collections.abc import Sequence

import torch

from kernels import portable_gemm
from kernels.cuda_driver import has_bindings
from kernels.group_table import GroupTable, read_groups
from kernels.hopper_device import Unbuildable, device_of
from kernels.layout import SubmissionData
from kernels.problem import GroupShape
from kernels.refusals import tell
from kernels.stand_in import imitates

CAPABILITY = (9, 0)
_MOST = 1 << 19
"""Of every extent: tiles and chunks are counted in 16 bits."""


def applies(groups: Sequence[GroupShape], capability: tuple[int, int]) -> str | None:
    """Return why the kernel cannot run these groups on such a device, None where it can."""
    if capability != CAPABILITY:
        return "needs compute capability 9.0: the products are wgmma"
    if imitates():
        return "needs a GPU: neither the interpreter nor Triton's compiler knows CUDA C++"
    if not has_bindings():
        return "needs cuda-bindings, which PyTorch for CUDA brings along"
    if any(shape.k % 32 for shape in groups):
        return "needs k a multiple of 32: packed rows of B are copied in pieces of 16 bytes"
    if len(groups) > _MOST or any(extent > _MOST for shape in groups for extent in shape):
        return f"counts tiles in 16 bits: no extent may exceed {_MOST}"
    return None


def why_portable(groups: GroupTable, capability: tuple[int, int]) -> str | None:
    """Return why a call is left to the portable kernel, None where it is not."""
    refusal = applies(groups.shapes, capability)
    if refusal:
        return refusal
    for group, (a, b, _, sfb, _) in enumerate(groups.addresses):
        if a % 4 or b % 16 or sfb % 16:
            return (
                f"needs a at a multiple of 4 bytes, b and sfb_reordered at one of 16: "
                f"not so in non-empty group {group}"
            )
    return None


def launch(groups: GroupTable) -> None:
    """Run all groups on the current stream: one launch that decodes A, one for all the rest.

    Raises:
        Unbuildable: the kernels cannot be made on this machine; nothing was launched.

    """
    device = device_of(groups.device)
    device.run(device.ready(groups.shapes), groups.addresses)


def custom_kernel(data: SubmissionData) -> list[torch.Tensor]:
    """Compute every group into its `c` and return these tensors in order.

    Raises:
        ValueError: an operand is not as the module's docstring says.

    """
    groups = read_groups(data)
    if groups.shapes:
        reason = why_portable(groups, torch.cuda.get_device_capability(groups.device))
        try:
            if reason is None:
                launch(groups)
        except Unbuildable as error:
            reason = str(error)
        if reason is not None:
            tell("hopper", reason)
            return portable_gemm.custom_kernel(data)
    return [c for _, _, c in data[0]]
