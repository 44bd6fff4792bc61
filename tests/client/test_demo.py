"""The whole road, as `make demo` goes it: every part is the real one."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.client.conftest import HALFBYTE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_the_demo_shows_two_passing_kernels_and_leaves_nothing_behind(
    environment, tmp_path_factory
):
    temporary = tmp_path_factory.mktemp("d")  # short: a socket's path has 107 bytes
    done = subprocess.run(
        [HALFBYTE, "demo"],
        env={**environment, "TMPDIR": str(temporary), "HALFBYTE_DEVICE": "H200"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(re.findall("^passed: ", done.stdout, re.MULTILINE)) == 2
    assert (
        "$ halfbyte submit examples/my_kernel.py --m 96,128 --n 128,256 --k 256,512\n"
        in done.stdout
    )
    assert len(re.findall(r"sandbox level \d \(", done.stdout)) == 2
    assert done.stdout.endswith("make up` serves for as long as you like.\n")
    assert list(temporary.iterdir()) == []
