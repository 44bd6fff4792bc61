"""GPUs that are cut up are refused in words; NVML is a fake, since no such GPU is here."""

from types import SimpleNamespace

import pytest

from worker.device import find_device
from worker.gpu_lock import GpuUnusable
from worker.settings import WorkerSettings
from worker.slices import mig_enabled, refuse_slice


class NvmlError(Exception):
    pass


def nvml(mode: int | None) -> SimpleNamespace:
    """A driver with one GPU, GPU-1, in a mode; None where its kind has no slices."""

    def handle(uuid: str) -> str:
        if uuid != "GPU-1":
            raise NvmlError("not found")
        return uuid

    def modes(gpu: str) -> list[int]:
        if mode is None:
            raise NvmlError("not supported")
        return [mode, 1]

    return SimpleNamespace(
        NVMLError=NvmlError,
        NVML_DEVICE_MIG_ENABLE=1,
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByUUID=handle,
        nvmlDeviceGetMigMode=modes,
    )


@pytest.mark.parametrize(
    "name", ["MIG-1f2e", "MIG-GPU-1f2e/1/0", "NVIDIA H200 MIG 1g.18gb", "NVIDIA A100 MIG 3g.20gb"]
)
def test_a_slice_is_known_by_its_name(name: str) -> None:
    with pytest.raises(GpuUnusable, match=r"is cut up \(MIG\).*: give the worker a whole GPU"):
        refuse_slice(name)


@pytest.mark.parametrize("name", ["", "0", "none", "GPU-1f2e", "NVIDIA H200", "NVIDIA MIGHTY"])
def test_a_whole_gpu_is_none(name: str) -> None:
    refuse_slice(name)


@pytest.mark.parametrize(
    ("mode", "uuid", "cut_up"),
    [(1, "GPU-1", True), (0, "GPU-1", False), (None, "GPU-1", False), (1, "GPU-2", False)],
)
def test_the_driver_says_whether_a_gpu_without_a_device_is_cut_up(
    mode: int | None, uuid: str, cut_up: bool
) -> None:
    assert mig_enabled(nvml(mode), uuid) is cut_up


def test_a_worker_is_not_given_a_slice() -> None:
    with pytest.raises(GpuUnusable, match="is cut up"):
        find_device(WorkerSettings(gpu="MIG-1f2e"))


def test_a_gpu_that_is_named_is_not_replaced_by_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)

    def init() -> None:
        raise RuntimeError("CUDA error: uncorrectable ECC error encountered\nCompile with ...")

    monkeypatch.setattr("torch.cuda.init", init)
    words = r"^GPU 0 cannot be used: CUDA error: uncorrectable ECC error encountered$"
    with pytest.raises(GpuUnusable, match=words):
        find_device(WorkerSettings(gpu="0"))
    assert find_device(WorkerSettings()).ground.emulated
    assert find_device(WorkerSettings(gpu="none")).ground.emulated
