"""The machine and the versions, as they stand in every verdict."""

import platform
import socket
from importlib.metadata import version
from pathlib import Path

import torch

from contract.device import ANY, CPU, DEVICES
from contract.verdict import Environment


def describe_machine(sandbox: str) -> Environment:
    """Read what this worker runs on. Without a GPU the device is `cpu`."""
    gpu = torch.cuda.is_available()
    properties = torch.cuda.get_device_properties(0) if gpu else None
    return Environment(
        host=socket.gethostname(),
        device=device_names()[0],
        gpu=None if properties is None else properties.name,
        gpu_uuid=None if properties is None else f"GPU-{properties.uuid}",
        driver=_driver() if gpu else None,
        cpu=_cpu_model(),
        python=platform.python_version(),
        torch=version("torch"),
        triton=version("triton"),
        cuda=torch.version.cuda if gpu else None,
        halfbyte=version("halfbyte"),
        sandbox=sandbox,
    )


def device_names() -> tuple[str, ...]:
    """Return the names of this device that jobs can ask for, the most special first."""
    if not torch.cuda.is_available():
        return (CPU, ANY)
    words = torch.cuda.get_device_name(0).upper().split()
    major, minor = torch.cuda.get_device_capability(0)
    cards = [name for name in DEVICES if name in words]
    return (*cards, f"sm_{major}{minor}", ANY)


def _driver() -> str | None:
    try:
        text = Path("/proc/driver/nvidia/version").read_text()
    except OSError:
        return None
    numbers = [word for word in text.split() if word.replace(".", "").isdigit() and "." in word]
    return numbers[0] if numbers else None


def _cpu_model() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return None
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, None)
