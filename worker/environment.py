"""The machine and the versions, as they stand in every verdict."""

import platform
import socket
from importlib.metadata import version
from pathlib import Path

from contract.verdict import Environment


def describe_machine(sandbox: str) -> Environment:
    """Read what this worker runs on. Without a GPU the device is `cpu`."""
    return Environment(
        host=socket.gethostname(),
        device="cpu",
        cpu=_cpu_model(),
        python=platform.python_version(),
        torch=version("torch"),
        triton=version("triton"),
        halfbyte=version("halfbyte"),
        sandbox=sandbox,
    )


def _cpu_model() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return None
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, None)
