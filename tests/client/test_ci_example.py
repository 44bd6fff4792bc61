"""The example for CI, against answers over real HTTP; with a real worker: tests/system."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.client.answers import JOBS, ONE, Answer, finished, job, problem

CI = Path(__file__).parents[2] / "examples" / "ci"
SCRIPT = CI / "check_kernel.py"
ACCEPTED = Answer(202, job("queued"))


@pytest.fixture
def check(service, environment, tmp_path):
    """Run the script against a service that measured a time, or none."""

    def run(view, before_us, accepted=ACCEPTED):
        service.tell("POST", JOBS, accepted)
        service.tell("GET", ONE, Answer(200, view))
        (tmp_path / "kernel.py").write_text("x = 1")
        asked = json.loads((CI / "baseline.json").read_text()) | {"geomean_us": before_us}
        (tmp_path / "baseline.json").write_text(json.dumps(asked))
        return subprocess.run(
            [sys.executable, str(SCRIPT), "kernel.py", "baseline.json"],
            env={**environment, "HALFBYTE_URL": service.url, "HALFBYTE_KEY": "hb_k"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )

    return run


@pytest.mark.parametrize(
    ("view", "before_us", "code"),
    [
        (finished(score={"geomean_us": 102.0}), 100.0, 0),
        (finished(score={"geomean_us": 104.0}), 100.0, 1),
        (finished(score={"geomean_us": 104.0}), None, 0),
        (finished(), 100.0, 3),
        (finished("incorrect"), None, 1),
        (job("failed", error={"reason": "worker_lost", "message": "twice"}), None, 3),
    ],
)
def test_a_build_fails_where_a_kernel_is_wrong_or_slower(check, service, view, before_us, code):
    done = check(view, before_us)
    assert done.returncode == code, done.stdout + done.stderr
    (sent,) = service.of("POST")
    assert {"mode": "benchmark", "device": "H200"}.items() <= json.loads(sent.body).items()
    assert sent.headers["Authorization"] == "Bearer hb_k"


def test_a_service_that_refuses_says_why_in_the_log_of_the_build(check):
    done = check(finished(), None, problem(401, "this is no key of this service"))
    assert done.returncode == 3
    assert "no verdict: this is no key of this service (HTTP 401) Show one by --key" in done.stdout


def test_the_workflow_runs_the_script_that_is_there():
    workflow = yaml.safe_load((CI / "workflow.yml").read_text())
    runs = [step["run"] for step in workflow["jobs"]["evaluate"]["steps"] if "run" in step]
    called = runs[-1].split()
    assert called[0] == "python"
    assert [Path(word).name for word in called[1:]] == [
        SCRIPT.name, "my_kernel.py", "baseline.json"
    ]  # fmt: skip
    assert all((CI / Path(word).name).exists() for word in called[1:] if word.startswith("ci/"))
