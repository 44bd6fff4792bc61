"""Landlock needs a Python that every uid can reach. Where root's home holds it, the tests of this
way run in a mount namespace in which that home is open.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.worker.sandbox.conftest import build
from tests.worker.sandbox.trials import in_the_open, run
from worker.sandbox.visible import is_hidden

HERE = Path(__file__).parent


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.skipif(not is_hidden(Path(sys.base_prefix)), reason="these tests run directly here")
def test_landlock_confines_where_python_is_in_the_open():
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-k",
        "landlock",
        HERE,
    ]
    inner = subprocess.run(
        [*in_the_open(), *command],
        capture_output=True,
        text=True,
        check=False,
        cwd=HERE.parents[2],
    )
    assert inner.returncode == 0, inner.stdout
    assert " passed" in inner.stdout


def test_landlock_shows_the_runners_modules_and_not_the_repository():
    repository = HERE.parents[2]
    code = f"""
for file in ({str(repository / "worker" / "runner.py")!r}, {str(repository / "pyproject.toml")!r}):
    try:
        print(bool(open(file).read()))
    except PermissionError:
        print("refused")
"""
    assert run(build("Landlock"), code).stdout.split() == ["True", "refused"]
