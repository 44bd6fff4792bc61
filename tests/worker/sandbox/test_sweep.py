"""What killed judges leave is removed, what is in use is not."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from worker.sandbox.cgroup_root import find_control_groups
from worker.sandbox.confinement import SandboxSettings, SandboxUnavailable
from worker.sandbox.namespaces import group_name
from worker.sandbox.scratch import make_scratch, sweep_scratch
from worker.sandbox.slots import open_slots
from worker.sandbox.sweep import sweep

FIRST_UID = 63_000 + os.getpid() % 1000


def test_only_the_groups_of_free_uids_are_removed(tmp_path: Path) -> None:
    settings = SandboxSettings(first_uid=FIRST_UID, uids=2, state=tmp_path)
    try:
        slots = open_slots(tmp_path, range(FIRST_UID, FIRST_UID + 2))
        groups = find_control_groups()
    except SandboxUnavailable as reason:
        pytest.skip(str(reason))
    held, left = slots.take(), slots.take()
    made = [groups.make(group_name(slot.uid), 1 << 20, 2, 1) for slot in (held, left)]
    left.release()
    sweep(settings)
    assert all(folder.exists() for folder in made[0].folders)
    assert not any(folder.exists() for folder in made[1].folders)
    held.release()
    sweep(settings)
    assert not any(folder.exists() for folder in made[0].folders)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_only_the_processes_of_free_uids_are_ended(tmp_path: Path) -> None:
    settings = SandboxSettings(first_uid=FIRST_UID + 10, uids=2, state=tmp_path)
    slots = open_slots(tmp_path, range(FIRST_UID + 10, FIRST_UID + 12))
    held, left = slots.take(), slots.take()
    ours, theirs = (
        subprocess.Popen(["/bin/sleep", "60"], user=slot.uid, group=slot.uid)
        for slot in (held, left)
    )
    left.release()
    try:
        sweep(settings)
        assert theirs.wait(20) == -signal.SIGKILL
        assert ours.poll() is None
    finally:
        for process in (ours, theirs):
            process.kill()
            process.wait()
        held.release()


def left_by_a_killed_process() -> Path:
    script = (
        "import os; from worker.sandbox.scratch import make_scratch; folder = make_scratch().path;"
        "(folder / 'file').touch(); print(folder, flush=True); os.kill(os.getpid(), 9)"
    )
    killed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    left = Path(killed.stdout.strip())
    assert left.exists()
    return left


def test_the_folder_of_a_killed_process_is_removed_and_those_of_the_living_are_not() -> None:
    left = left_by_a_killed_process()
    ours = make_scratch()
    sweep_scratch({os.geteuid() + 1})
    assert left.exists()  # somebody else's
    sweep_scratch({os.geteuid()})
    assert not left.exists()
    assert ours.path.exists()
    ours.remove()
    assert not ours.path.exists()


def test_folders_are_removed_also_where_no_uid_can_be_locked(tmp_path: Path) -> None:
    left = left_by_a_killed_process()
    (tmp_path / "file").touch()
    sweep(SandboxSettings(state=tmp_path / "file" / "below"))
    assert not left.exists()
