"""The wheel has every module and every file that a module reads, and nothing else."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("client", "contract", "kernels", "service", "worker")
NOT_SHIPPED = ("__pycache__",)


def files_of(root: Path) -> set[str]:
    """All files below the packages, caches excepted."""
    return {
        str(path.relative_to(root))
        for package in PACKAGES
        for path in (root / package).rglob("*")
        if path.is_file() and not set(NOT_SHIPPED) & set(path.parts)
    }


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a wheel is made of: a build writes into it."""
    sources = tmp_path_factory.mktemp("sources")
    for package in PACKAGES:
        ignored = shutil.ignore_patterns(*NOT_SHIPPED)
        shutil.copytree(ROOT / package, sources / package, ignore=ignored)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, sources / name)
    return sources


@pytest.fixture(scope="module")
def wheel(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(out), str(sources)],
        check=True,
        timeout=100,
    )
    (found,) = out.glob("halfbyte-*.whl")
    return found


@pytest.mark.timeout(120)
def test_a_wheel_has_every_file_and_nothing_else(wheel: Path, sources: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        (entry,) = (name for name in archive.namelist() if name.endswith("entry_points.txt"))
        assert "halfbyte = client.main:main" in archive.read(entry).decode()
    assert names ^ files_of(sources) == set()


@pytest.mark.timeout(120)
def test_what_a_wheel_has_runs_elsewhere(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    check = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "import client.main, service.app, worker.settings;"
        "from client import Halfbyte;"
        "print(client.main.__file__, service.app.__file__, worker.settings.__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", check, str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    loaded = done.stdout.split()
    assert len(loaded) == 3
    assert all(path.startswith(str(tmp_path)) for path in loaded)
