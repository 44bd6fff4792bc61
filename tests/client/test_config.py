import logging
from pathlib import Path

import pytest

from client import config
from client.errors import UsageError
from client.options import Service

HOME = ".config/halfbyte/config.toml"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Write files of a home, and of a project in it, whose folder `kernels` is where we are."""
    here = tmp_path / "project" / "kernels"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", *(f"HALFBYTE_{field.upper()}" for field in config.FIELDS)):
        monkeypatch.delenv(name, raising=False)

    def write(path: str, text: str, mode: int = 0o600) -> Path:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)
        return file

    return write


def test_nothing_set_is_this_machine_without_a_key(place):
    found = config.load()
    assert found.url == "http://127.0.0.1:8000"
    assert found.key_for(found.url) is None
    assert found.value("device") is None


def test_the_environment_comes_before_the_project_before_the_home(place, monkeypatch):
    place(HOME, 'url = "http://home"\ndevice = "home"\nproblem = "home"')
    place("project/halfbyte.toml", 'url = "http://project"\ndevice = "project"')
    monkeypatch.setenv("HALFBYTE_URL", "http://environment")
    monkeypatch.setenv("HALFBYTE_DEVICE", "")
    found = config.load()
    assert found.url == "http://environment"
    assert (found.value("device"), found.value("problem")) == ("project", "home")


def test_flags_come_before_everything(place, monkeypatch):
    monkeypatch.setenv("HALFBYTE_URL", "http://environment")
    with Service("http://flag", "hb_flag").client() as client:
        assert client.url == "http://flag"
    with Service().client() as client:
        assert client.url == "http://environment"


def test_the_nearest_project_counts(place):
    place("project/halfbyte.toml", 'device = "far"')
    place("project/kernels/halfbyte.toml", 'device = "near"')
    assert config.load().value("device") == "near"


def test_a_project_does_not_get_the_key_of_the_home_for_an_address_of_its_own(place, caplog):
    place(HOME, 'url = "https://mine"\nkey = "hb_mine"')
    assert config.load().key_for("https://mine/") == "hb_mine"
    place("project/halfbyte.toml", 'url = "https://theirs"')
    found = config.load()
    assert found.key_for(found.url) is None
    assert "is for https://mine, and not shown to https://theirs" in caplog.text


def test_a_key_of_the_environment_does_not_go_where_only_a_project_says(place, monkeypatch, caplog):
    place("project/halfbyte.toml", 'url = "https://theirs"')
    monkeypatch.setenv("HALFBYTE_KEY", "hb_mine")
    assert config.load().key_for("https://theirs/") is None
    assert "not shown to https://theirs/: set HALFBYTE_URL" in caplog.text
    assert config.load().key_for("https://typed") == "hb_mine"
    monkeypatch.setenv("HALFBYTE_URL", "https://theirs")
    assert config.load().key_for("https://theirs") == "hb_mine"


def test_a_key_of_the_environment_goes_where_the_home_says_too(place, monkeypatch):
    place(HOME, 'url = "https://ours"')
    place("project/halfbyte.toml", 'url = "https://ours/"')
    monkeypatch.setenv("HALFBYTE_KEY", "hb_mine")
    assert config.load().key_for("https://ours") == "hb_mine"


@pytest.mark.parametrize(("mode", "told"), [(0o600, False), (0o640, True), (0o604, True)])
def test_a_key_that_others_can_read_is_told(place, caplog, mode, told):
    place(HOME, 'key = "hb_mine"', mode)
    with caplog.at_level(logging.WARNING):
        assert config.load().key_for(config.LOCAL) == "hb_mine"
    assert ("chmod 600" in caplog.text) is told


def test_a_file_without_a_key_may_be_read_by_everybody(place, caplog):
    place("project/halfbyte.toml", 'device = "cpu"', 0o644)
    config.load()
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("device = 3", r"halfbyte\.toml: device: must be text in quotes"),
        ('device = ""', r"halfbyte\.toml: device: must be text in quotes"),
        ('ulr = "x"', r"halfbyte\.toml: ulr: unknown field; known: url, key, device, problem"),
        ("device = \n", r"halfbyte\.toml is no TOML: .*line 1"),
    ],
)
def test_what_is_wrong_is_told_by_file_and_field(place, text, said):
    place("project/halfbyte.toml", text)
    with pytest.raises(UsageError, match=said):
        config.load()


def test_a_file_that_is_no_text_is_refused_by_name(place):
    place(HOME, "").write_bytes(b"\xff")
    with pytest.raises(UsageError, match=r"config\.toml is no TOML"):
        config.load()
