"""The command as a user meets it: what it prints where, and its exit code."""

import json
import signal
import subprocess
import sys
from importlib.metadata import version

import pytest

from tests.client.answers import (
    EVENTS,
    JOB,
    JOBS,
    ONE,
    Answer,
    case,
    finished,
    job,
    problem,
    stream,
)
from tests.client.conftest import HALFBYTE, body_of
from tests.client.on_a_terminal import on_a_terminal

SIZES = ("--m", "96,128", "--n", "128,256", "--k", "256,512")
RUNNING = stream(
    ("state", {"state": "running"}),
    ("progress", {"stage": "testing", "case": 0, "cases": 1}),
    ("state", {"state": "finished"}),
)


@pytest.fixture
def ending(service):
    """Tell of a job that is accepted, runs, and ends as the view says."""

    def tell(view) -> None:
        service.tell("POST", JOBS, Answer(202, job("queued", position=1)))
        service.tell("GET", EVENTS, RUNNING)
        service.tell("GET", ONE, Answer(200, view))

    return tell


@pytest.mark.parametrize(
    ("view", "code"),
    [
        (finished("passed"), 0),
        (finished("incorrect"), 1),
        (finished("crashed"), 1),
        (finished("timed_out"), 1),
        (job("failed", error={"reason": "worker_lost", "message": "twice"}), 3),
        (job("cancelled"), 3),
    ],
)
def test_the_exit_code_says_how_a_job_ended(halfbyte, service, ending, view, code):
    ending(view)
    done = halfbyte("run", *SIZES, "--url", service.url)
    assert done.returncode == code
    verdict = view["verdict"]
    assert done.stdout.startswith(verdict["outcome"] if verdict else view["state"])
    assert body_of(service.of("POST")[0]) == {
        "kernel": "auto", "m": [96, 128], "n": [128, 256], "k": [256, 512]
    }  # fmt: skip


def test_in_a_pipe_progress_is_plain_lines_on_stderr(halfbyte, service, ending):
    ending(finished())
    done = halfbyte("run", *SIZES, "--url", service.url)
    assert done.stderr == "queued, number 1 in line\nrunning\ntesting, case 0 (1 of 1)\n"
    assert "\x1b" not in done.stdout


def test_json_is_the_job_and_nothing_else(halfbyte, service, ending):
    view = finished("incorrect", summary="é \x9b31m \u2028")
    ending(view)
    done = halfbyte("run", *SIZES, "--json", "--url", service.url)
    assert json.loads(done.stdout) == view
    assert done.stdout.isascii()
    assert done.stderr == ""
    assert done.returncode == 1


def test_json_leaves_what_to_do_next_to_stderr(halfbyte, service, ending):
    again = {"kernel": "auto", "cases": [{"m": [16], "n": [16], "k": [16], "seed": "0f"}]}
    view = finished("incorrect", reproduce=json.dumps(again))
    ending(view)
    done = halfbyte("run", *SIZES, "--json", "--url", service.url)
    assert json.loads(done.stdout) == view
    assert done.stderr == (
        "the same operands again: "
        "halfbyte run --kernel auto --mode test --m 16 --n 16 --k 16 --seed 0f\n"
    )


def test_on_a_terminal_progress_is_one_line_that_goes_away(service, ending, environment):
    ending(finished())
    shown = on_a_terminal(environment, "run", *SIZES, "--url", service.url)
    progress, _, after = shown.rpartition("\x1b[2K")  # erases the line
    assert "⠋" in progress  # the spinner before the status
    assert "⠋" not in after
    assert "passed" in after


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_bytes(b"x = 1\r\n")
    return path


def test_submit_sends_file_cases_mode_and_device(halfbyte, service, ending, tmp_path, file):
    ending(finished())
    cases = tmp_path / "cases.json"
    cases.write_text('[{"m": [1], "n": [1], "k": [16]}, {"m": [2], "n": [2], "k": [32]}]')
    options = ("--cases", str(cases), "--mode", "test", "--device", "cpu")
    done = halfbyte("submit", str(file), *options, HALFBYTE_URL=service.url, HALFBYTE_KEY="hb_k")
    assert done.returncode == 0
    (request,) = service.of("POST")
    assert body_of(request) == {
        "source_base64": "eCA9IDENCg==", "filename": "kernel.py", "mode": "test", "device": "cpu",
        "cases": [{"m": [1], "n": [1], "k": [16]}, {"m": [2], "n": [2], "k": [32]}],
    }  # fmt: skip
    assert request.headers["Authorization"] == "Bearer hb_k"


@pytest.mark.parametrize("command", ["run", "submit", "compile"])
def test_a_problem_and_a_batch_are_sent(halfbyte, service, ending, file, command):
    ending(finished())
    sizes = ("--problem", "nvfp4_gemv", "--m", "16", "--n", "1", "--k", "32", "--l", "8")
    what = () if command == "run" else (str(file),)
    done = halfbyte(command, *what, *sizes, "--url", service.url)
    assert done.returncode == 0
    (request,) = service.of("POST")
    sent = {"problem": "nvfp4_gemv", "m": [16], "n": [1], "k": [32], "l": 8}
    assert sent.items() <= body_of(request).items()


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        ((), {}),
        (("--target", "sm_100a", "--target", "sm_90a"), {"targets": ["sm_100a", "sm_90a"]}),
        (SIZES, {"m": [96, 128], "n": [128, 256], "k": [256, 512]}),
    ],
)
def test_compile_sends_file_targets_and_sizes(halfbyte, service, ending, file, options, sent):
    kernel = {
        "name": "gemm", "target": "sm_100a", "instructions": {"tcgen05.mma": 8}, "registers": 128,
        "spill_bytes": 0, "shared_bytes": 32768, "tma": True, "links": {},
    }  # fmt: skip
    ending({**finished(cases=[], kernels=[kernel]), "mode": "compile"})
    done = halfbyte("compile", str(file), *options, "--url", service.url)
    assert done.returncode == 0
    assert "tcgen05.mma x8" in done.stdout
    (request,) = service.of("POST")
    assert body_of(request) == {
        "source_base64": "eCA9IDENCg==", "filename": "kernel.py", "mode": "compile", **sent
    }  # fmt: skip


def test_a_refusal_is_told_in_the_services_words(halfbyte, service):
    said = "k[0] must be a positive multiple of 16, got 3"
    service.tell("POST", JOBS, problem(422, f"k[0]: {said}", ("k[0]", said)))
    done = halfbyte("run", *SIZES, "--url", service.url)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"halfbyte: k[0]: {said} (HTTP 422)\n"


def test_a_refusal_of_several_fields_lists_them(halfbyte, service):
    fields = ("k[0]", "must be \x1b[31m less"), ("mode", "must be 'test'")
    service.tell("POST", JOBS, problem(422, "k[0]: must be less", *fields))
    done = halfbyte("run", *SIZES, "--json", "--url", service.url)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "halfbyte: Title (HTTP 422)\n  k[0]: must be \\x1b[31m less\n  mode: must be 'test'\n"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "--m", "1"), "not given: --n and --k"),
        (("run", *SIZES, "--cases", "x.json"), "--cases and --m, --n, --k exclude each other"),
        (("submit", "/nowhere/kernel.py"), "/nowhere/kernel.py: No such file or directory"),
        (("submit", "/"), "/: Is a directory; name a kernel file"),
        (("compile", "/nowhere/kernel.py"), "/nowhere/kernel.py: No such file or directory"),
        (("run", "--url", "localhost:8000"), "'localhost:8000' is no address"),
        (("show", ""), "'' is no id of a job; `halfbyte list` shows them"),
        (("admin", "disqualify", "a/b", "--reason", "x"), "'a/b' is no id of a job"),
        (("worker", "--redis", "localhost"), "--redis takes redis://HOST:PORT, "),
        (("up", "--redis", "localhost"), "--redis takes redis://HOST:PORT, "),
        (("run", "--nonsense"), "No such option"),
        (("list", "--limit", "0"), "--limit"),
        (("nonsense",), "No such command"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(halfbyte, arguments, said):
    done = halfbyte(*arguments, HALFBYTE_URL="http://127.0.0.1:1")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_service_is_our_fault(halfbyte, service):
    service.tell("POST", JOBS, problem(500, "an error of ours; it has been logged"))
    done = halfbyte("run", *SIZES, "--url", service.url)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "halfbyte: an error of ours; it has been logged (HTTP 500)\n"


def test_a_full_queue_is_waited_for_and_said_once(halfbyte, service, ending):
    ending(finished())
    full = problem(503, "the queue is full", **{"Retry-After": "0"})
    service.tell("POST", JOBS, full, full, Answer(202, job("queued")))
    done = halfbyte("run", *SIZES, "--url", service.url)
    assert done.returncode == 0
    assert done.stderr.count("the queue is full (HTTP 503); trying for 10 s more\n") == 1


def test_a_stream_that_breaks_off_is_resumed(halfbyte, service):
    service.tell("GET", ONE, *[Answer(200, job("running"))] * 2, Answer(200, finished()))
    service.tell("GET", EVENTS, stream(("state", {"state": "running"}), cut=True), RUNNING)
    done = halfbyte("watch", JOB, "--url", service.url)
    assert done.returncode == 0
    streams = [request for request in service.requests if request.path == EVENTS]
    assert [request.headers.get("Last-Event-ID") for request in streams] == [None, "1-0"]


def test_interrupting_leaves_the_job_alone_and_says_how_to_go_on(service, environment):
    service.tell("POST", JOBS, Answer(202, job("queued", position=2)))
    service.tell("GET", EVENTS, stream(("state", {"state": "queued"})))
    service.tell("GET", ONE, Answer(200, job("queued", position=2)))
    process = subprocess.Popen(
        [HALFBYTE, "run", *SIZES, "--url", service.url],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr.readline() == "queued, number 2 in line\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "")
    job_there = f"{JOB} --url {service.url}"
    assert err == f"The job goes on: halfbyte watch {job_there}, or halfbyte cancel {job_there}\n"
    assert service.of("DELETE") == []


def test_a_service_that_goes_away_for_good_leaves_a_hint(halfbyte, service):
    service.tell("GET", ONE, Answer(200, job("running")), problem(500, "an error of ours"))
    service.tell("GET", EVENTS, RUNNING)
    done = halfbyte("watch", JOB, HALFBYTE_URL=service.url)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.splitlines()[-2:] == [
        "halfbyte: an error of ours (HTTP 500)",
        f"The job goes on: halfbyte watch {JOB}, or halfbyte cancel {JOB}",
    ]


def test_cancel_shows_what_became_of_the_job(halfbyte, service):
    service.tell("DELETE", ONE, Answer(200, job("cancelled")))
    done = halfbyte("cancel", JOB, "--url", service.url)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "cancelled")


def test_cancel_says_that_a_job_had_ended_before(halfbyte, service):
    service.tell("DELETE", ONE, Answer(200, finished()))
    done = halfbyte("cancel", JOB, "--url", service.url)
    assert (done.returncode, done.stdout[:6]) == (0, "passed")
    assert done.stderr == "It had ended before: there was nothing to cancel.\n"


def test_cancelling_a_job_that_is_not_there_is_refused(halfbyte, service):
    service.tell("DELETE", ONE, problem(404, f"there is no job {JOB}"))
    done = halfbyte("cancel", JOB, "--url", service.url)
    assert done.returncode == 2
    assert f"there is no job {JOB}" in done.stderr


def test_retry_follows_the_job_as_it_is_judged_again(halfbyte, service):
    service.tell("POST", f"{ONE}/retry", Answer(202, job("queued", position=1)))
    service.tell("GET", EVENTS, RUNNING)
    service.tell("GET", ONE, Answer(200, finished()))
    done = halfbyte("retry", JOB, "--url", service.url)
    assert (done.returncode, done.stdout[:6]) == (0, "passed")
    assert done.stderr.startswith("queued, number 1 in line\nrunning\n")


def test_show_reads_a_failed_kernel_with_exit_code_0(halfbyte, service):
    service.tell("GET", ONE, Answer(200, finished("crashed", cases=[case(outcome="crashed")])))
    done = halfbyte("show", JOB, "--url", service.url)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "crashed: 1 case")


def test_log_and_source_go_into_a_pipe_as_they_are(environment, service):
    service.tell("GET", f"{ONE}/log", Answer(200, b"\x1b[31m\xff\r\n"))
    service.tell("GET", f"{ONE}/source", Answer(200, b"\xef\xbb\xbfx\r\n\x00"))
    for option, content in (("--log", b"\x1b[31m\xff\r\n"), ("--source", b"\xef\xbb\xbfx\r\n\x00")):
        command = [HALFBYTE, "show", JOB, option, "--url", service.url]
        assert subprocess.check_output(command, env=environment) == content


def test_list_is_a_table_of_headlines(halfbyte, service):
    headline = {"outcome": "passed", "summary": "passed", "geomean_us": 12.345}
    jobs = [
        {**job(id="a" * 32), "headline": headline},
        {**job("queued", id="b" * 32, filename="\x1b[1mk.py"), "headline": None},
    ]
    service.tell("GET", JOBS, Answer(200, {"jobs": jobs, "next_cursor": None}))
    chosen = ("--state", "queued", "--device", "any")
    done = halfbyte("list", *chosen, "--url", service.url)
    assert done.returncode == 0
    assert service.requests[0].path == f"{JOBS}?limit=20&state=queued&device=any"
    head, one, two = (line.split() for line in done.stdout.splitlines())
    assert head == ["id", "state", "mode", "device", "sent", "(UTC)", "us", "kernel"]
    assert one == ["a" * 32, "passed", "test", "any", "01-02", "03:04", "12.3", "auto"]
    assert two == ["b" * 32, "queued", "test", "any", "01-02", "03:04", r"\x1b[1mk.py"]


def test_an_empty_list_says_so_beside_the_output(halfbyte, service):
    service.tell("GET", JOBS, Answer(200, {"jobs": [], "next_cursor": None}))
    done = halfbyte("list", "--url", service.url)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "no jobs\n")


def test_nobody_there_says_how_to_get_a_service(halfbyte):
    done = halfbyte("cancel", JOB, "--url", "http://127.0.0.1:1")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.splitlines() == [
        "halfbyte: no answer from http://127.0.0.1:1: nothing listens there",
        "Start a service here with `halfbyte up`, or name another one with --url.",
    ]


def test_the_version_is_that_of_the_package(halfbyte):
    said = f"halfbyte {version('halfbyte')}\n"
    assert halfbyte("--version").stdout == said
    as_module = [sys.executable, "-P", "-m", "client", "--version"]
    assert subprocess.check_output(as_module, text=True) == said


def test_help_needs_no_service(halfbyte):
    done = halfbyte("--help")
    assert done.returncode == 0
    for command in ("up", "demo", "run", "submit", "watch", "cancel", "list", "show", "worker"):
        assert command in done.stdout
