"""What a candidate sees of the host's files: the system's programs, Python, the runner's source.

Everything is read-only. Not visible: home folders, the repository but for what the runner imports,
data folders, /sys, /run, /var, and of /etc all but what loading a library takes.
"""

import ast
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

RUNNERS: Final = frozenset(
    {"worker.runner", "worker.compiler", "worker.profiler", "worker.profiled"}
)
RUNNER_DATA: Final = "competition"
"""The folder of modules that the runner hands to submissions, beside it."""

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
PACKAGE_FOLDERS: Final = ("site-packages", "dist-packages")
GPU_NODES: Final = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools")


@dataclass(frozen=True, slots=True)
class Visible:
    """Folders and files to show read-only at their own paths, links to make, devices to pass."""

    folders: tuple[Path, ...]
    packages: tuple[Path, ...]
    """Folders that hold some of the files: importing lists them."""
    links: tuple[tuple[str, Path], ...]
    devices: tuple[Path, ...]


def find_visible(gpu_minors: tuple[int, ...] = (), shown: tuple[Path, ...] = ()) -> Visible:
    """Look at this machine and this Python; `shown` are further folders."""
    top = [Path("/") / name for name in LINKS]
    return Visible(
        folders=tuple(_outermost([*_system(top), *_python(), *_runner(), *shown])),
        packages=(_folder("worker"), _folder("kernels")),
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
    """Yield the environment, the installation it was made from, and packages borrowed by a .pth."""
    yield Path(sys.prefix)
    yield from (path for path in map(Path, sys.path) if path.name in PACKAGE_FOLDERS)
    yield Path(sys.base_prefix).resolve()
    yield Path(sys.base_prefix)


def _runner() -> Iterator[Path]:
    """Yield what the runners need, where they run from a checkout and not from the environment."""
    yield _folder("kernels")
    worker = _folder("worker")
    yield worker / "__init__.py"
    yield worker / RUNNER_DATA
    yield from _imported(set(RUNNERS), worker)


def _imported(modules: set[str], worker: Path) -> set[Path]:
    """Return the files of some modules of the package, and of all that they import from it."""
    files: dict[str, Path] = {}
    while modules:
        module = modules.pop()
        package, *names = module.split(".")
        file = worker.joinpath(*names).with_suffix(".py")
        if package == worker.name and module not in files and file.is_file():
            files[module] = file
            modules |= set(_imports(ast.parse(file.read_bytes())))
    return set(files.values())


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield module
                yield from (f"{module}.{name.name}" for name in names)


def _folder(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


def _outermost(paths: list[Path]) -> Iterator[Path]:
    """Drop what another path already shows; keep the order."""
    seen: list[Path] = []
    for path in sorted(set(paths)):
        if not any(path.is_relative_to(other) for other in seen):
            seen.append(path)
            yield path


def is_hidden(path: Path) -> bool:
    """Whether the path lies below a folder that only its owner may enter."""
    return any(not folder.stat().st_mode & stat.S_IXOTH for folder in path.parents)


def _gpu_nodes(minors: tuple[int, ...]) -> Iterator[Path]:
    """Yield the device files of some GPUs. CUDA opens the control nodes for any of them."""
    if minors:
        for name in (*(f"nvidia{minor}" for minor in minors), *GPU_NODES):
            if (node := Path("/dev") / name).exists():
                yield node
