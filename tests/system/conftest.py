"""Everything, as a user starts it: `halfbyte up` in a process of its own."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

HALFBYTE = str(Path(sys.executable).with_name("halfbyte"))
START_S = 120


@dataclass(frozen=True)
class Stack:
    """What `halfbyte up` serves."""

    url: str
    process: subprocess.Popen[str]

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=100)


@pytest.fixture(scope="package")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    data = tmp_path_factory.mktemp("data")
    process = subprocess.Popen(
        [HALFBYTE, "up", "--port", "0", "--data", str(data)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    url = None
    for line in process.stdout:
        if found := re.search(r"serving (http://\S+)", line):
            url = found.group(1)
            break
    assert url, f"halfbyte up ended with {process.wait()}"
    try:
        yield Stack(url, process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(START_S)
        process.stdout.close()
