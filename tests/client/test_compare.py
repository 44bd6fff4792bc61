"""`halfbyte compare`: what is sent, what is printed, and exit codes that gates can use."""

import base64
import json

import pytest

from tests.client.answers import EVENTS, ONE, Answer, case, finished, job, problem, stream
from tests.client.conftest import body_of

COMPARISONS = "/v1/comparisons"
OTHER = {"kernel": None, "filename": "new.py", "sha256": "5e" * 32}
LOG = {"stdout": "", "stderr": "", "stdout_bytes": 0, "stderr_bytes": 0, "truncated": False}


def timed(median_us: float, **changes):
    timing = {
        "median_us": median_us, "p10_us": 1.0, "p90_us": 2.0, "samples": 48, "unstable": False,
        "launch_bound": False, "tflops": 1.0, "speed_of_light_us": 1.0,
        "fraction_of_speed_of_light": 0.5,
    }  # fmt: skip
    return case(timing=timing, **changes)


def ratio(ratio: float, decision: str):
    ends = {"low": ratio - 0.002, "high": ratio + 0.002}
    return {"ratio": ratio, "rounds": 24, "decision": decision, **ends}


def compared(decision: str, at: float = 1.05, words: str = ""):
    found = ratio(at, decision)
    return finished(
        summary=f"passed: {words or decision}",
        cases=[timed(100.0)],
        compared={
            "overall": found,
            "at_fault": None,
            "cases": [{"index": 0, "b": timed(100 * at), "ratio": found}],
            "log": LOG,
        },
    ) | {"mode": "compare", "other": OTHER}


def wrong_b():
    message = "group 0, row 3, column 4: got 0.0, expected 1.5"
    b = case(outcome="incorrect", reason="values", message=message)
    return finished(
        "incorrect",
        summary=f"incorrect in case 0 of B: {message}",
        message=message,
        cases=[case()],
        reproduce=json.dumps({"mode": "test", "cases": [{**SIZES, "seed": "0f" * 16}]}),
        compared={
            "overall": None,
            "at_fault": "b",
            "cases": [{"index": 0, "b": b, "ratio": None}],
            "log": {**LOG, "stdout": "said by b\n", "stdout_bytes": 10},
        },
    ) | {"mode": "compare", "kernel": "portable", "other": OTHER}


SIZES = {"m": [96], "n": [128], "k": [256]}
RUNNING = stream(("state", {"state": "running"}), ("state", {"state": "finished"}))


@pytest.fixture
def ending(service):
    def tell(view) -> None:
        service.tell("POST", COMPARISONS, Answer(202, job("queued", position=1)))
        service.tell("GET", EVENTS, RUNNING)
        service.tell("GET", ONE, Answer(200, view))

    return tell


@pytest.fixture
def files(tmp_path):
    for name in ("old.py", "new.py"):
        (tmp_path / name).write_bytes(b"# " + name.encode() + b" \xff\n")
    return str(tmp_path / "old.py"), str(tmp_path / "new.py")


@pytest.mark.parametrize(
    ("view", "code"),
    [
        (compared("faster", 0.9), 0),
        (compared("no_difference", 1.001), 0),
        (compared("slower"), 1),
        (wrong_b(), 1),
        (job("failed", error={"reason": "worker_lost", "message": "twice"}), 3),
        (job("cancelled"), 3),
    ],
)
def test_the_exit_code_is_that_of_a_gate(halfbyte, service, ending, files, view, code):
    ending(view)
    assert halfbyte("compare", *files, "--url", service.url).returncode == code


def test_a_table_says_it_case_by_case(halfbyte, service, ending, files):
    words = "B is slower: it takes 5.0 % more time than A (B over A: 1.050, ...)"
    ending(compared("slower", words=words))
    done = halfbyte("compare", *files, "--url", service.url)
    head, *lines = done.stdout.splitlines()
    assert head == words
    rows = [line.split() for line in lines if "slower" in line]
    interval = ["1.0500", "1.0480..1.0520", "B", "is", "slower"]
    assert rows == [["0", "100.00", "105.00", *interval], ["all", *interval]]
    assert "auto against new.py, mode compare" in done.stdout


def test_what_is_wrong_is_said_of_the_one_that_is(halfbyte, service, ending, files):
    ending(wrong_b())
    done = halfbyte("compare", *files, "--url", service.url)
    assert done.stdout.startswith("incorrect in case 0 of B: group 0, row 3, column 4")
    assert "B, stdout, 10 bytes:\n    said by b" in done.stdout
    again = "halfbyte submit new.py --mode test --m 96 --n 128 --k 256 --seed " + "0f" * 16
    assert again in done.stdout


def test_files_arrive_byte_for_byte_and_kernels_by_name(halfbyte, service, ending, files):
    ending(compared("faster"))
    sizes = ("--m", "96", "--n", "128", "--k", "256")
    done = halfbyte("compare", "portable", files[1], *sizes, "--json", "--url", service.url)
    assert json.loads(done.stdout)["verdict"]["compared"]["overall"]["decision"] == "faster"
    body = body_of(service.of("POST")[0])
    assert body["a"] == {"kernel": "portable"}
    assert base64.b64decode(body["b"]["source_base64"]) == b"# new.py \xff\n"
    assert body["b"]["filename"] == "new.py"
    assert {name: body[name] for name in "mnk"} == SIZES


def test_what_either_file_says_of_itself_counts(halfbyte, service, ending, tmp_path):
    ending(compared("faster"))
    said, silent = tmp_path / "said.py", tmp_path / "silent.py"
    said.write_text("#!POPCORN leaderboard nvfp4_gemv\n#!HALFBYTE device H200\n")
    silent.write_text("x = 1\n")
    for pair in ((said, silent), (silent, said)):
        halfbyte("compare", *map(str, pair), "--url", service.url, HALFBYTE_PROBLEM="nvfp4_gemm")
    bodies = [body_of(request) for request in service.of("POST")]
    assert [(body["problem"], body["device"]) for body in bodies] == [("nvfp4_gemv", "H200")] * 2


def test_a_refusal_and_a_file_that_is_not_there_are_usage(halfbyte, service, files):
    refused = problem(422, "no worker here has a GPU", ("mode", "no worker here has a GPU"))
    service.tell("POST", COMPARISONS, refused)
    done = halfbyte("compare", *files, "--url", service.url)
    assert done.returncode == 2
    assert "no worker here has a GPU" in done.stderr
    done = halfbyte("compare", "nowhere.py", files[1], "--url", service.url)
    assert done.returncode == 2
    assert "nowhere.py: No such file" in done.stderr
