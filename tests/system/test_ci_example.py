"""The example for CI as a build runs it, with everything started as a user does it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.conftest import Stack

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "ci" / "check_kernel.py"


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("kernel", "code", "said"),
    [
        ("tests/candidates/honest_torch.py", 0, "passed"),
        ("tests/candidates/wrong_one_element.py", 1, "incorrect in case 0"),
        ("tests/candidates/crash_raises.py", 1, "crashed"),
    ],
)
def test_a_build_fails_where_a_kernel_is_wrong(
    stack: Stack, tmp_path: Path, kernel: str, code: int, said: str
) -> None:
    baseline = tmp_path / "baseline.json"
    baseline.write_text(json.dumps({"mode": "test", "device": "cpu", "geomean_us": None}))
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(ROOT / kernel), str(baseline)],
        env={**os.environ, "HALFBYTE_URL": stack.url},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert (done.returncode, done.stderr) == (code, "")
    assert said in done.stdout
