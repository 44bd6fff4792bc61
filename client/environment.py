"""The only place of the client that reads the environment, apart from options of its commands."""

import os
from pathlib import Path


def inherited(**extra: str) -> dict[str, str]:
    """Return our own environment with `extra` on top: what a child of `halfbyte up` is given."""
    return {**os.environ, **extra}


def default_data_dir() -> Path:
    """Return `$XDG_STATE_HOME/halfbyte`, or `~/.local/state/halfbyte` where that is not set."""
    return _base("XDG_STATE_HOME", ".local/state") / "halfbyte"


def set_here(name: str) -> str | None:
    """Return a variable, None where it is not set or empty."""
    return os.environ.get(name) or None


def config_home() -> Path:
    """Return `$XDG_CONFIG_HOME`, or `~/.config` where that is not set."""
    return _base("XDG_CONFIG_HOME", ".config")


def _base(variable: str, beneath_home: str) -> Path:
    # The specification says that a relative path there is to be ignored.
    given = os.environ.get(variable, "")
    return Path(given) if given.startswith("/") else Path.home() / beneath_home
