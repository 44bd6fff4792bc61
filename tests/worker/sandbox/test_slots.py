import os
import subprocess
import sys
from pathlib import Path

import pytest

from worker.sandbox.confinement import SandboxUnavailable
from worker.sandbox.slots import Slots, open_slots

UIDS = range(60_100, 60_103)
OTHER = """
import sys
from pathlib import Path
from worker.sandbox.slots import Slots
slot = Slots(Path(sys.argv[1]), range(60_100, 60_103)).take()
print(slot.uid, flush=True)
sys.stdin.read()
"""


def test_a_uid_is_given_once_until_it_comes_back(tmp_path: Path):
    slots = Slots(tmp_path, UIDS)
    first, second = slots.take(), slots.take()
    assert (first.uid, second.uid) == (60_100, 60_101)
    first.release()
    first.release()
    assert slots.take().uid == 60_100


def test_none_left_is_an_error_that_says_so(tmp_path: Path):
    slots = Slots(tmp_path, UIDS)
    held = [slots.take() for _ in UIDS]
    with pytest.raises(OSError, match="all 3 uids"):
        slots.take()
    for slot in held:
        slot.release()


def test_another_worker_gets_another_uid_and_its_death_frees_it(tmp_path: Path):
    command = [sys.executable, "-c", OTHER, str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"60100\n"
        slots = Slots(tmp_path, UIDS)
        assert slots.take().uid == 60_101
        other.kill()
    assert slots.take().uid == 60_100


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("uids", [range(0, 5), range(60_000, 60_000)])
def test_roots_uid_and_no_uid_are_refused(tmp_path: Path, uids: range):
    with pytest.raises(SandboxUnavailable, match="not for candidates"):
        open_slots(tmp_path, uids)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_folder_of_somebody_else_is_refused(tmp_path: Path):
    folder = tmp_path / "state"
    folder.mkdir()
    os.chown(folder, 54321, 54321)
    with pytest.raises(SandboxUnavailable, match="somebody else"):
        open_slots(folder, UIDS)
