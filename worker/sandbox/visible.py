"""What a candidate sees of the host's files: the system's programs, Python, the runner's source.

Everything is read-only. Not visible: home folders, the repository (but for the modules below), data
folders, /sys, /run, /var, and of /etc all but what loading a library takes.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

RUNNER_MODULES: Final = {
    "kernels": (".",),
    "worker": (
        "__init__.py",
        "arena.py",
        "competition",
        "process_tree.py",
        "protocol.py",
        "runner.py",
    ),
}
"""The files of each package that the runner needs, where it runs from a checkout."""

LINKS: Final = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
ETC: Final = (
    "alternatives",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
)
CPU_FACTS: Final = Path("/sys/devices/system")
"""What torch reads to count cores and memory nodes."""
GPU_NODES: Final = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools")


@dataclass(frozen=True, slots=True)
class Visible:
    """Folders and files to bind read-only at their own paths, links to make, devices to pass."""

    folders: tuple[Path, ...]
    links: tuple[tuple[str, Path], ...]
    devices: tuple[Path, ...]


def find_visible(gpu_minors: tuple[int, ...] = ()) -> Visible:
    """Look at this machine and this Python."""
    top = [Path("/") / name for name in LINKS]
    return Visible(
        folders=tuple(_outermost([*_system(top), *_python(), *_runner()])),
        links=tuple((str(path.readlink()), path) for path in top if path.is_symlink()),
        devices=tuple(_gpu_nodes(gpu_minors)),
    )


def _system(top: list[Path]) -> Iterator[Path]:
    yield Path("/usr")
    yield from (path for path in top if path.is_dir() and not path.is_symlink())
    yield from (path for name in ETC if (path := Path("/etc") / name).exists())
    if CPU_FACTS.is_dir():
        yield CPU_FACTS


def _python() -> Iterator[Path]:
    """Yield the environment, and the installation that it was made from."""
    yield Path(sys.prefix)
    yield Path(sys.base_prefix).resolve()
    yield Path(sys.base_prefix)


def _runner() -> Iterator[Path]:
    for package, files in RUNNER_MODULES.items():
        spec = find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            yield from (path for file in files if (path := Path(folder) / file).exists())


def _outermost(paths: list[Path]) -> Iterator[Path]:
    """Drop what another path already shows; keep the order."""
    seen: list[Path] = []
    for path in sorted(set(paths)):
        if not any(path.is_relative_to(other) for other in seen):
            seen.append(path)
            yield path


def _gpu_nodes(minors: tuple[int, ...]) -> Iterator[Path]:
    """Yield the device files of some GPUs. CUDA opens the control nodes for any of them."""
    if minors:
        for name in (*(f"nvidia{minor}" for minor in minors), *GPU_NODES):
            if (node := Path("/dev") / name).exists():
                yield node
