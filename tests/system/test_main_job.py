"""The main job as a user does it: curl, the command, a real competition file."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.system.conftest import HALFBYTE, Stack

ROOT = Path(__file__).parents[2]
CANDIDATES = ROOT / "tests" / "candidates"
COMPETITION_FILE = ROOT.parent / "shared" / "cases" / "submission_491515.py"

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine")


def curl(*arguments: str) -> dict:
    done = subprocess.run(
        ["curl", "-sSg", *arguments], capture_output=True, text=True, check=True, timeout=100
    )
    return json.loads(done.stdout, parse_constant=lambda word: pytest.fail(f"{word} in JSON"))


def halfbyte(stack: Stack, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [HALFBYTE, *arguments, "--url", stack.url],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


@needs_curl
def test_sizes_sent_with_curl_come_back_as_a_verdict(stack: Stack) -> None:
    job = curl(
        *("-H", "content-type: application/json"),
        *("-d", '{"m":[96,128],"n":[128,256],"k":[256,512]}'),
        f"{stack.url}/v1/jobs",
    )
    assert job["state"] in ("queued", "running")
    ended = curl(f"{stack.url}/v1/jobs/{job['id']}?wait=60")
    assert ended["state"] == "finished"
    verdict = ended["verdict"]
    assert verdict["outcome"] == "passed"
    assert verdict["emulated"] is True
    assert verdict["cases"][0]["timing"] is None
    assert verdict["cases"][0]["comparison"]["bit_exact"] is True
    assert verdict["score"] is None


@needs_curl
@pytest.mark.timeout(200)
@pytest.mark.skipif(not COMPETITION_FILE.exists(), reason="the competition file is not here")
def test_a_real_competition_file_passes_unmodified_and_bit_exact(stack: Stack) -> None:
    job = curl("-F", f"file=@{COMPETITION_FILE}", "-F", "mode=test", f"{stack.url}/v1/submissions")
    ended = curl(f"{stack.url}/v1/jobs/{job['id']}?wait=60")
    if ended["state"] == "running":  # a busy machine
        ended = curl(f"{stack.url}/v1/jobs/{job['id']}?wait=60")
    assert ended["sha256"] == hashlib.sha256(COMPETITION_FILE.read_bytes()).hexdigest()
    cases = ended["verdict"]["cases"]
    assert ended["verdict"]["outcome"] == "passed", ended["verdict"]["summary"]
    assert len(cases) == 10
    assert all(case["comparison"]["bit_exact"] for case in cases)


@needs_curl
def test_a_file_sent_as_it_is_comes_back_byte_for_byte(stack: Stack) -> None:
    path = CANDIDATES / "wrong_one_element.py"
    job = curl(
        *("--data-binary", f"@{path}"),
        f"{stack.url}/v1/submissions?mode=test&filename=mine.py&m=[8]&n=[8]&k=[16]",
    )
    with stack.client() as client:
        ended = client.get(f"/v1/jobs/{job['id']}", params={"wait": 60}).json()
        assert client.get(f"/v1/jobs/{job['id']}/source").content == path.read_bytes()
    assert ended["verdict"]["outcome"] == "incorrect"
    assert ended["verdict"]["message"].startswith("group 0, row 7, column 7: ")


def test_what_reproduces_a_failure_finds_it_again(stack: Stack) -> None:
    source = (CANDIDATES / "wrong_scales_ignored.py").read_text()
    with stack.client() as client:

        def judged(body: dict) -> dict:
            job = client.post("/v1/jobs", json={"source": source, **body})
            assert job.status_code == 202, job.text
            return client.get(f"/v1/jobs/{job.json()['id']}", params={"wait": 60}).json()["verdict"]

        sizes = {"m": [9], "n": [7], "k": [48]}
        first = judged({"mode": "test", "cases": [{**sizes, "distribution": "full_range"}]})
        again = judged(json.loads(first["reproduce"]))
    # The calls run in an order of their own, and the first failing one speaks.
    assert again["cases"][0]["outcome"] == first["cases"][0]["outcome"] == "incorrect"
    assert json.loads(again["reproduce"])["cases"] == json.loads(first["reproduce"])["cases"]


@pytest.mark.parametrize(
    ("candidate", "code"), [("honest_torch", 0), ("wrong_zeros", 1), ("crash_segfault", 1)]
)
def test_the_exit_code_of_the_command_says_whose_fault_it_is(
    stack: Stack, candidate: str, code: int
) -> None:
    path = CANDIDATES / f"{candidate}.py"
    done = halfbyte(stack, "submit", str(path), "--m", "8,4", "--n", "16,8", "--k", "32,64")
    assert done.returncode == code, done.stderr
    as_json = halfbyte(stack, "submit", str(path), "--m", "8", "--n", "16", "--k", "32", "--json")
    assert json.loads(as_json.stdout)["state"] == "finished"


def test_events_tell_the_way_of_a_job(stack: Stack) -> None:
    with stack.client() as client:
        job = client.post("/v1/jobs", json={"m": [4], "n": [4], "k": [16], "mode": "test"}).json()
        with client.stream("GET", f"/v1/jobs/{job['id']}/events") as events:
            text = "".join(events.iter_text())
    told = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
    assert [entry.get("state") or entry["stage"] for entry in told] == [
        "queued",
        "running",
        "starting",
        "importing",
        "testing",
        "finished",
    ]


def test_a_running_job_is_cancelled_and_the_next_one_runs(stack: Stack) -> None:
    source = (CANDIDATES / "timeout_sleeps.py").read_text().replace("> 3", "> 0")
    with stack.client() as client:
        job = client.post("/v1/jobs", json={"source": source, "mode": "test"}).json()
        while client.get(f"/v1/jobs/{job['id']}").json()["state"] == "queued":
            pass
        cancelled = client.delete(f"/v1/jobs/{job['id']}").json()
        assert cancelled["state"] == "cancelled"
        after = client.post("/v1/jobs", json={"m": [4], "n": [4], "k": [16], "mode": "test"}).json()
        ended = client.get(f"/v1/jobs/{after['id']}", params={"wait": 60}).json()
    assert ended["verdict"]["outcome"] == "passed"
