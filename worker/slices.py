"""GPUs that are cut up (MIG) are refused.

A runner in a slice would need the device files of the slice, which the sandbox does not show, and
its times would depend on neighbours: clocks and power are shared.
"""

from typing import Any, Final

from worker.gpu_lock import GpuUnusable

WORDS: Final = "it is cut up (MIG), which is not served: give the worker a whole GPU"


def refuse_slice(name: str) -> None:
    """Refuse what is named as a slice, by CUDA_VISIBLE_DEVICES (`MIG-...`) or by the driver.

    Raises:
        GpuUnusable: it is one.

    """
    if "MIG" in name.replace("-", " ").split():
        raise GpuUnusable(f"{name}: {WORDS}")


def cut_up(uuid: str) -> str | None:
    """Return words where a GPU that CUDA cannot use is cut up; None where that is not known."""
    try:
        import pynvml  # noqa: PLC0415  (only where there is a GPU)
    except ImportError:
        return None
    return WORDS if mig_enabled(pynvml, uuid) else None


def mig_enabled(nvml: Any, uuid: str) -> bool:  # noqa: ANN401  (a module)
    """Ask NVML, the module pynvml, whether a GPU is in the mode in which it has slices."""
    try:
        nvml.nvmlInit()
        current, _ = nvml.nvmlDeviceGetMigMode(nvml.nvmlDeviceGetHandleByUUID(uuid))
    except nvml.NVMLError:  # no driver, no such GPU, or one that knows no slices
        return False
    return bool(current == nvml.NVML_DEVICE_MIG_ENABLE)
