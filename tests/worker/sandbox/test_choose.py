import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.worker.sandbox.conftest import build
from tests.worker.sandbox.trials import as_ordinary_user
from worker.sandbox import choose, landlock, namespaces, selftest
from worker.sandbox.confinement import SandboxSettings, SandboxUnavailable
from worker.sandbox.unconfined import Unconfined

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "TRITON_INTERPRET": "1"}


def no_bubblewrap():
    raise SandboxUnavailable("no bubblewrap here")


def no_landlock():
    raise OSError(38, "Function not implemented")


@pytest.mark.slow
def test_the_highest_level_that_proves_itself_is_chosen():
    best = build("level 2")
    chosen = choose.choose(SandboxSettings(minimum_level=2), ENVIRONMENT)
    assert (chosen.level, chosen.description) == (2, best.description)


def test_without_bubblewrap_the_worker_does_not_start(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(namespaces, "find_bubblewrap", no_bubblewrap)
    monkeypatch.setattr(landlock, "landlock_version", no_landlock)
    with pytest.raises(SandboxUnavailable, match="no bubblewrap here"):
        choose.choose(SandboxSettings(minimum_level=1), ENVIRONMENT)


def test_level_0_is_chosen_only_where_it_was_asked_for_and_says_why(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(namespaces, "find_bubblewrap", no_bubblewrap)
    monkeypatch.setattr(landlock, "landlock_version", no_landlock)
    chosen = choose.choose(SandboxSettings(minimum_level=0), ENVIRONMENT)
    assert chosen.level == 0
    assert "not level 2: " in chosen.description


def test_a_sandbox_with_a_hole_is_not_proven():
    with pytest.raises(SandboxUnavailable, match=r"open to: .*connect_to_loopback \(connected\)"):
        selftest.prove(Unconfined(), ENVIRONMENT, (), gpu=False, cpu=False)


def test_a_sandbox_in_which_the_runner_does_not_import_is_not_proven(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(selftest, "SMOKE", "import a_module_that_is_not_there")
    with pytest.raises(SandboxUnavailable, match="a_module_that_is_not_there"):
        selftest.prove(build("level 1"), ENVIRONMENT, (), gpu=False, cpu=False)


def test_a_sandbox_without_a_limit_of_memory_is_not_proven(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(selftest, "HOG", "pass")
    monkeypatch.setattr(selftest, "SMOKE", "pass")
    with pytest.raises(SandboxUnavailable, match="memory is not limited"):
        selftest.prove(build("level 1"), ENVIRONMENT, (), gpu=False, cpu=False)


def test_a_sandbox_without_a_limit_of_cpu_time_is_not_proven(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(selftest, "SPINNERS", "print(3.9)")
    monkeypatch.setattr(selftest, "SMOKE", "pass")
    with pytest.raises(SandboxUnavailable, match=r"CPU time is not limited: 3\.9 cores"):
        selftest.prove(build("level 2"), ENVIRONMENT, (), gpu=False, cpu=True)


def test_an_ordinary_user_who_wants_level_2_is_told_what_it_takes():
    code = """
from worker.sandbox.choose import choose
from worker.sandbox.confinement import SandboxSettings
choose(SandboxSettings(minimum_level=2), {})
"""
    user = subprocess.run(
        [*as_ordinary_user(), sys.executable, "-I", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    assert user.returncode != 0
    assert "a uid of its own for each candidate needs root" in user.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_control_group_that_does_not_exist_is_named(tmp_path: Path):
    with pytest.raises(SandboxUnavailable, match=str(tmp_path)):
        namespaces.build_level_2(SandboxSettings(cgroup=tmp_path))
