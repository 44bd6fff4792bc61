"""What kernels check on the host before they launch: types, shapes and strides."""

import torch


def check_rows(
    name: str, tensor: torch.Tensor, dtype: torch.dtype, shape: tuple[int, int, int]
) -> None:
    """Refuse what is not `[rows, columns, l]` with contiguous rows, one entry behind the other.

    Raises:
        ValueError: naming the tensor, and what it should have been.

    """
    if (
        tensor.dtype != dtype
        or tensor.shape != shape
        or not tensor.permute(2, 0, 1).is_contiguous()
    ):
        raise ValueError(
            f"{name} must be {dtype} {shape} with contiguous rows, "
            f"got {tensor.dtype} {tuple(tensor.shape)} with strides {tensor.stride()}"
        )


def check_blocked(name: str, scale: torch.Tensor, rows: int, k: int, batch: int = 1) -> None:
    """Refuse what is not blocked scales of `rows` x `k / 16`.

    Raises:
        ValueError: naming the tensor, and what it should have been.

    """
    shape = (32, 4, -(-rows // 128), 4, -(-k // 64), batch)
    if (
        scale.dtype != torch.float8_e4m3fn
        or scale.shape != shape
        or not scale.permute(5, 2, 4, 0, 1, 3).is_contiguous()
    ):
        raise ValueError(
            f"{name} must be torch.float8_e4m3fn {shape} in blocked order, "
            f"got {scale.dtype} {tuple(scale.shape)} with strides {scale.stride()}"
        )
