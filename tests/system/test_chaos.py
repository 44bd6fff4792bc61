"""A minute of what `make chaos` does for five."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_minute_of_chaos_loses_nothing_ends_nothing_twice_and_leaves_nothing(
    tmp_path: Path,
) -> None:
    out = tmp_path / "report.json"
    options = {
        "seconds": 60,
        "jobs": 120,
        "lease-s": 6,
        "beat-s": 1,
        "gap-s": 3,
        "first-uid": 62_100,
        "out": out,
    }
    done = subprocess.run(
        [sys.executable, "-m", "bench.chaos", *(f"--{k}={v}" for k, v in options.items())],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    report = json.loads(out.read_text())
    assert report["jobs"] >= 120
    assert report["jobs_of_real_judges"] > 0
    assert report["attacks"]["redis kill"] == 3
    assert any(name.startswith("worker kill") for name in report["attacks"])
    assert any(name.startswith("worker freeze") for name in report["attacks"])
