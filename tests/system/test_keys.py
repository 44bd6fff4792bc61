"""From a service open on loopback to one that strangers reach, as docs/operating.md says."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import httpx
import pytest

from tests.system.conftest import HALFBYTE, START_S


@contextmanager
def up(data: Path, *options: str) -> Iterator[tuple[str, TextIO]]:
    """Serve from a data directory, and give the address and what it says from then on."""
    process = subprocess.Popen(
        [HALFBYTE, "up", "--port", "0", "--data", str(data), *options],
        env={**os.environ, "HALFBYTE_WORKER_SPARES": "1"},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        for line in process.stdout:
            if found := re.search(r"serving (http://\S+)", line):
                yield found.group(1), process.stdout
                break
        else:
            raise AssertionError(f"halfbyte up ended with {process.wait()}")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(START_S)
        process.stdout.close()


def halfbyte(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [HALFBYTE, *arguments], capture_output=True, text=True, check=False, timeout=100
    )


@pytest.mark.timeout(200)
def test_with_a_key_it_may_be_reached_from_elsewhere_and_by_nobody_without(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path / "data"))
    refused = halfbyte("up", "--port", "0", "--host", "0.0.0.0", *data)
    assert refused.returncode == 3
    assert "halfbyte admin key create" in refused.stderr
    with up(tmp_path / "data", "--workers", "0"):
        made = halfbyte("admin", "key", "create", "alice", *data)
        assert made.returncode == 0, made.stderr
    key = made.stdout.strip()
    with up(tmp_path / "data", "--host", "0.0.0.0") as (url, said):
        assert httpx.get(f"{url}/v1/jobs").status_code == 401
        without = halfbyte("run", "--m", "4", "--n", "4", "--k", "16", "--url", url)
        assert without.returncode == 2
        assert "a key is needed" in without.stderr
        judged = halfbyte("run", "--m", "4", "--n", "4", "--k", "16", "--url", url, "--key", key)
        assert judged.returncode == 0, judged.stderr

        live = halfbyte("workers", "--json", "--url", url, "--key", key)
        (worker,) = json.loads(live.stdout)["workers"]
        refused = halfbyte("drain", worker["id"], "--url", url, "--key", key)
        assert (refused.returncode, "role `admin`" in refused.stderr) == (2, True)
        root = halfbyte("admin", "key", "create", "root", "--role", "admin", *data).stdout.strip()
        assert halfbyte("drain", worker["id"], "--url", url, "--key", root).returncode == 0
        assert said.readline() == "worker-1 ended as it was asked to\n"
