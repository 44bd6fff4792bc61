import json
import os
import stat
from pathlib import Path

import pytest

from client.datadir import AlreadyRunning, DataDir
from client.environment import default_data_dir
from client.errors import UsageError


def test_a_second_owner_is_told_who_the_first_is(tmp_path):
    with DataDir(tmp_path / "data") as first:
        first.note("http://127.0.0.1:1234", "unix://x")
        with pytest.raises(
            AlreadyRunning, match=f"process {os.getpid()} serves http://127.0.0.1:1234"
        ):
            DataDir(tmp_path / "data").__enter__()
        assert DataDir(tmp_path / "data").running() == {
            "pid": os.getpid(), "url": "http://127.0.0.1:1234", "redis_url": "unix://x"
        }  # fmt: skip


def test_an_owner_that_has_not_noted_anything_yet_is_one_too(tmp_path):
    with DataDir(tmp_path), pytest.raises(AlreadyRunning, match="another halfbyte up is starting"):
        DataDir(tmp_path).__enter__()


def test_nobody_owns_it_afterwards(tmp_path):
    with DataDir(tmp_path) as first:
        first.note("http://127.0.0.1:1234", "unix://x")
    assert DataDir(tmp_path).running() is None
    with DataDir(tmp_path):
        pass


def test_the_note_of_a_killed_owner_means_nothing(tmp_path):
    note = {"pid": 1, "url": "http://127.0.0.1:1234", "redis_url": "unix://x"}
    (tmp_path / "lock").touch()
    (tmp_path / "up.json").write_text(json.dumps(note))
    assert DataDir(tmp_path).running() is None
    with DataDir(tmp_path) as owner:
        assert owner.running() is None


def test_a_folder_that_never_was_one_is_owned_by_nobody(tmp_path):
    assert DataDir(tmp_path / "none").running() is None


def test_only_its_user_can_look_into_it(tmp_path):
    with DataDir(tmp_path / "a" / "data") as directory:
        directory.note("http://x", "unix://:secret@x")
        assert stat.S_IMODE(directory.path.stat().st_mode) == 0o700
        assert stat.S_IMODE((directory.path / "up.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("path", ["/proc/none", "/dev/null/data"])
def test_a_folder_that_cannot_be_made_is_a_usage_error(path):
    with pytest.raises(UsageError, match="the data directory cannot be used"):
        DataDir(Path(path)).__enter__()


def test_it_is_where_the_user_keeps_state(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for state_home in ("", "relative/path"):
        monkeypatch.setenv("XDG_STATE_HOME", state_home)
        assert default_data_dir() == tmp_path / ".local" / "state" / "halfbyte"
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert default_data_dir() == Path("/state/halfbyte")
