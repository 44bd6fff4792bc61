"""Landlock needs a Python that every uid can reach. Where root's home holds it, the tests of this
way run in a mount namespace in which that home is open.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.worker.sandbox.conftest import build
from tests.worker.sandbox.trials import alive, in_the_open, marker, run
from worker.sandbox.confinement import SandboxSettings
from worker.sandbox.sweep import sweep
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


def test_landlock_leaves_nothing_of_a_killed_judge_once_a_worker_starts(tmp_path: Path):
    build("Landlock")
    word = marker()
    daemon = f"""
import os, signal
if os.fork() == 0:
    os.setsid()
    print("up", flush=True)
    signal.pause()  # inside-{word}
signal.pause()
"""
    uid = 64_000 + os.getpid() % 1000  # nobody else's: the locks are in a folder of our own
    settings = SandboxSettings(state=tmp_path, first_uid=uid, uids=1)
    judge = f"""
import os, signal
from pathlib import Path
from tests.worker.sandbox.trials import begin, wait_for
from worker.sandbox.confinement import SandboxSettings
from worker.sandbox.landlock import build_landlock
settings = SandboxSettings(state=Path({str(tmp_path)!r}), first_uid={uid}, uids=1)
trial = begin(build_landlock(settings), {daemon!r})
wait_for(lambda: os.pread(trial.stdout.fileno(), 9, 0), "the daemon")
os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run([sys.executable, "-c", judge], check=False, cwd=HERE.parents[2])
    assert ended.returncode == -signal.SIGKILL
    assert alive(f"inside-{word}")  # nobody is told of the death of a grandparent
    sweep(settings)
    assert not alive(f"inside-{word}")
