"""The kernels of the grouped GEMM as kernels of one GEMM or a batch: each entry is a group."""

from collections.abc import Callable

import torch

from kernels import portable_gemm
from kernels.layout import SubmissionData

ALIGN_BYTES = 16
"""What kernels with descriptors need of every address."""
GemmData = tuple[
    torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor
]
"""`(a, b, sfa, sfb, sfa_reordered, sfb_reordered, c)`, each with the batch last."""


def adapted(
    grouped: Callable[[SubmissionData], list[torch.Tensor]],
) -> Callable[[GemmData], torch.Tensor]:
    """Return an entry point for one GEMM or a batch of equal ones.

    Entries lie side by side, so that those of odd sizes do not all start at 16 bytes: these run on
    the portable kernel, which asks for no alignment.
    """

    def custom_kernel(data: GemmData) -> torch.Tensor:
        c = data[-1]
        kernel = grouped if _aligned(data) else portable_gemm.custom_kernel
        kernel(as_groups(data))
        return c

    return custom_kernel


def as_groups(data: GemmData) -> SubmissionData:
    """Return views with one group an entry of the batch."""
    a, b, sfa, sfb, sfa_reordered, sfb_reordered, c = data
    m, n, batch = c.shape
    size = (m, n, a.shape[1] * 2, 1)
    entries = [slice(z, z + 1) for z in range(batch)]
    return (
        [(a[..., z], b[..., z], c[..., z]) for z in entries],
        [(sfa[..., z], sfb[..., z]) for z in entries],
        [(sfa_reordered[..., z], sfb_reordered[..., z]) for z in entries],
        [size] * batch,
    )


def _aligned(data: GemmData) -> bool:
    """Whether all entries start at 16 bytes where the first does."""
    strides = (tensor.stride(-1) * tensor.element_size() for tensor in data)
    return data[-1].shape[-1] == 1 or all(stride % ALIGN_BYTES == 0 for stride in strides)
