"""The command as it is on a terminal of somebody."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Mapping

from tests.client.conftest import HALFBYTE


def on_a_terminal(environment: Mapping[str, str], *arguments: str) -> str:
    """Run a command on a terminal of 80 columns, and return all that it wrote there."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    kept = {name: value for name, value in environment.items() if name != "COLUMNS"}
    process = subprocess.Popen(
        [HALFBYTE, *arguments],
        env={**kept, "TERM": "xterm"},
        stdin=child,
        stdout=child,
        stderr=child,
    )
    os.close(child)
    shown = b""
    try:
        while chunk := os.read(parent, 65536):
            shown += chunk
    except OSError:  # What Linux answers once the other end is closed.
        pass
    os.close(parent)
    assert process.wait(20) == 0
    return shown.decode()
