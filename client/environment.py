"""The only place of the client that reads the environment, apart from options of its commands."""

import os
from pathlib import Path


def inherited(**extra: str) -> dict[str, str]:
    """Return our own environment with `extra` on top: what a child of `halfbyte up` is given."""
    return {**os.environ, **extra}


def default_data_dir() -> Path:
    """Return `$XDG_STATE_HOME/halfbyte`, or `~/.local/state/halfbyte` where that is not set."""
    state_home = os.environ.get("XDG_STATE_HOME", "")
    # The specification says that a relative path there is to be ignored.
    base = Path(state_home) if state_home.startswith("/") else Path.home() / ".local" / "state"
    return base / "halfbyte"
