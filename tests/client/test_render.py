import json

import pytest
from rich.console import Console

from client import render
from client.tables import short
from tests.client.answers import JOB, case, finished, job, verdict


def text_of(view) -> str:
    out = Console(width=200, markup=False, emoji=False, highlight=False, soft_wrap=True)
    with out.capture() as captured:
        for part in render.job(view):
            out.print(part)
    return captured.get()


def timing(**changes):
    plain = {
        "median_us": 12.345, "p10_us": 12.0, "p90_us": 13.0, "samples": 50, "method": "x",
        "unstable": False, "launch_bound": False, "tflops": 123.4, "gbytes_per_s": 1.0,
        "speed_of_light_us": 6.0, "fraction_of_speed_of_light": 0.486,
    }  # fmt: skip
    return {**plain, **changes}


def test_a_passing_verdict_says_so_first_and_on_what_machine_last():
    lines = text_of(finished(summary="passed: 1 case in 3 calls")).splitlines()
    assert lines[0] == "passed: 1 case in 3 calls"
    assert "0     96,128  128,256  256,512  passed" in lines[3]
    assert lines[-5:] == [
        "emulated on a CPU: correctness only, no times",
        "sandbox level 2 (bubblewrap)",
        "A CPU",
        "python 3.11.7, torch 2.13.0, triton 3.9.0, halfbyte 0.1.0",
        "job 0123456789abcdef: auto, mode test, device any",
    ]


def test_a_ranked_job_that_passed_and_has_no_place_says_why():
    text = text_of(finished() | {"why_not": "it was sent late\x1b"})
    assert "not on the leaderboard: it was sent late\\x1b\n" in text


def test_a_wrong_case_says_where():
    worst = {"group": 1, "row": 2, "col": 3, "got": "NaN", "expected": 4.5}
    comparison = case()["comparison"] | {"mismatched_elements": 9, "worst": worst}
    wrong = case(outcome="incorrect", reason="values", message="nine", comparison=comparison)
    text = text_of(finished("incorrect", summary="incorrect in case 0", cases=[wrong]))
    assert "case 0 (values): nine\n" in text
    assert "worst: group 1, row 2, column 3: got NaN, expected 4.5\n" in text


def test_what_the_summary_says_is_not_said_twice():
    message = "group 0, row 1, column 2: got 0.0, expected 1.0"
    worst = {"group": 0, "row": 1, "col": 2, "got": 0.0, "expected": 1.0}
    comparison = case()["comparison"] | {"worst": worst}
    wrong = case(outcome="incorrect", message=message, comparison=comparison)
    text = text_of(finished("incorrect", summary=f"incorrect: {message}", cases=[wrong]))
    assert text.count("row 1") == 1


def test_an_outcome_of_two_words_is_not_said_twice():
    summary = "timed out in case 0 (0 of 1 case passed): no answer within 30 s (call_limit)"
    text = text_of(finished("timed_out", summary=summary))
    assert text.startswith("timed_out in case 0 (0 of 1 case passed): no answer within 30 s")


def test_a_flood_of_wrong_cases_is_counted():
    wrong = [case(index=i, outcome="crashed", message=f"bang {i}") for i in range(64)]
    text = text_of(finished("crashed", summary="crashed", cases=wrong))
    assert "bang 4\n" in text
    assert "bang 5" not in text
    assert "and 59 more cases that did not pass" in text


def test_an_error_that_could_not_be_taken_is_none():
    missing = {"max_abs_error": None, "max_rel_error": None, "mismatched_elements": 9}
    wrong = case(outcome="incorrect", comparison=case()["comparison"] | missing)
    (row,) = [
        line.split() for line in text_of(finished(cases=[wrong])).splitlines() if "96,128" in line
    ]
    assert row[-4:] == ["9", "-", "-", "yes"]


def test_times_appear_where_there_are_any_and_say_what_is_wrong_with_them():
    cases = [
        case(timing=timing()),
        case(index=1, timing=timing(unstable=True, launch_bound=True)),
        case(index=2, outcome=None, comparison=None),
    ]
    text = text_of(finished(cases=cases, score={"geomean_us": 12.3456}))
    assert "median us" in text
    assert "12.35  12.00..13.00    123.4       49%" in text
    assert "unstable, launch-bound" in text
    assert "not run" in text
    assert "score: 12.346 us" in text
    assert "median us" not in text_of(finished())


def test_escapes_in_messages_names_and_logs_are_shown_and_not_obeyed():
    evil = "\x1b[2J\x1b]52;c;x\x07\u202e"
    log = {"stdout": evil + "\n", "stderr": evil, "stdout_bytes": 9, "stderr_bytes": 9,
           "truncated": False}  # fmt: skip
    found = verdict("crashed")
    view = job(
        filename=evil,
        verdict=verdict(
            "crashed",
            summary=evil,
            log=log,
            reproduce=evil,
            cases=[case(outcome="crashed", reason=evil, message=evil)],
            environment=found["environment"] | {"gpu": evil, "sandbox": evil, "torch": evil},
        ),
    )
    text = text_of(view) + text_of(job("failed", error={"reason": evil, "message": evil}))
    assert all(line.isprintable() for line in text.split("\n"))
    assert r"\x1b[2J" in text


def test_a_traceback_has_its_lines_and_is_shown_once():
    where = '\n\n  File "submission.py", line 3, in custom_kernel\n    1 / 0'
    crash = case(outcome="crashed", reason="exception", message=f"ZeroDivisionError: zero{where}")
    found = {"summary": "crashed in case 0: ZeroDivisionError: zero", "cases": [crash]}
    text = text_of(finished("crashed", **found))
    assert '\n      File "submission.py", line 3, in custom_kernel\n        1 / 0\n' in text
    stderr = f"Traceback{where}\nZeroDivisionError: zero\n"
    log = {"stdout": "", "stderr": stderr, "stdout_bytes": 0, "stderr_bytes": len(stderr),
           "truncated": False}  # fmt: skip
    text = text_of(finished("crashed", **found, log=log))
    assert text.count("in custom_kernel") == 1
    assert text.count("ZeroDivisionError: zero") == 2


def test_a_long_log_keeps_the_end_where_a_traceback_says_why():
    stderr = "".join(f"line {i}\n" for i in range(100)) + "ValueError: why\n"
    log = {"stdout": "", "stderr": stderr, "stdout_bytes": 0, "stderr_bytes": len(stderr),
           "truncated": False}  # fmt: skip
    text = text_of(finished("crashed", log=log))
    assert "    line 0\n" in text
    assert "    ValueError: why\n" in text
    assert "line 50" not in text
    assert "[81 lines left out;" in text


def test_one_endless_line_does_not_flood_the_terminal():
    log = {"stdout": "x" * 60_000, "stderr": "", "stdout_bytes": 10**8, "stderr_bytes": 0,
           "truncated": True}  # fmt: skip
    text = text_of(finished("crashed", summary="crashed: " + "y" * 60_000, log=log))
    assert len(text) < 3000
    assert "100000000 bytes, its middle was not kept" in text


def test_the_command_that_repeats_a_case_is_given_where_one_can():
    again = {"m": [1, 2], "n": [3, 4], "k": [16, 32], "seed": "0a" * 16}
    view = finished("incorrect", reproduce=json.dumps({"cases": [dict(again)]}))
    command = f"--mode test --m 1,2 --n 3,4 --k 16,32 --seed {'0a' * 16}\n"
    assert f"halfbyte run --kernel auto {command}" in text_of(view)
    assert f"halfbyte submit my.py {command}" in text_of(
        view | {"kernel": None, "filename": "my.py"}
    )


def test_the_command_that_repeats_a_case_names_problem_and_batch():
    again = {"m": [8], "n": [1], "k": [16], "l": 4, "seed": "0a" * 16}
    view = finished("incorrect", reproduce=json.dumps({"cases": [again]}))
    text = text_of(view | {"problem": "nvfp4_gemv"})
    assert f"--problem nvfp4_gemv --m 8 --n 1 --k 16 --l 4 --seed {'0a' * 16}\n" in text


@pytest.mark.parametrize(
    "body", ["no json", "[]", "{}", '{"cases": [{"m": ["x"]}]}', '{"cases": []}']
)
def test_a_body_that_is_no_plain_case_is_shown_as_it_is(body):
    assert f"POST /v1/jobs {body}\n" in text_of(finished("incorrect", reproduce=body))


def test_operands_of_a_kind_of_their_own_are_repeated_by_body():
    again = {"m": [1], "n": [3], "k": [16], "seed": "1", "distribution": "full_range"}
    body = json.dumps({"cases": [again]})
    assert f"POST /v1/jobs {body}" in text_of(finished("incorrect", reproduce=body))


def test_compiled_kernels_are_listed():
    kernel = {
        "name": "gemm", "target": "sm_100a", "instructions": {"tcgen05.mma": 8}, "registers": 128,
        "spill_bytes": 0, "shared_bytes": 32768, "tma": True,
        "links": {"ptx": "/v1/jobs/1/artifacts/sm_100a-0-gemm.ptx"},
    }  # fmt: skip
    text = text_of(finished(cases=[], kernels=[kernel]))
    assert "gemm             sm_100a  tcgen05.mma x8        128         0     32768  yes" in text
    assert "halfbyte show JOB --artifact sm_100a-0-gemm.ptx" in text
    assert "PTX" not in text_of(finished(cases=[], kernels=[{**kernel, "links": {}}]))


def test_a_compilation_shows_every_line_of_the_compiler_and_claims_no_correctness():
    message = "sm_90a: CompilationError: at 4:9:\n" + "\n".join(f"line {n}\x1b" for n in range(29))
    view = finished("compile_error", cases=[], kernels=[], message=message)
    text = text_of({**view, "mode": "compile"})
    assert all(f"line {n}\\x1b\n" in text for n in range(29))
    assert "compiled only: nothing was run\nsandbox level 2" in text
    assert "correctness" not in text


def test_a_failed_job_blames_the_service():
    text = text_of(job("failed", error={"reason": "worker_lost", "message": "twice"}))
    assert text.startswith("failed: worker_lost: twice\nThe fault is the service's, not the kernel")
    assert f"judged again: halfbyte retry {JOB}\n" in text


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (job("queued", position=3), "queued, number 3 in line"),
        (job("queued"), "queued"),
        (job("running"), "running"),
        (job("running", progress={"stage": "importing", "case": None, "cases": 2}), "importing"),
        (
            job("running", progress={"stage": "testing", "case": 1, "cases": 2}),
            "testing, case 1 (2 of 2)",
        ),
        (job("cancelled"), "cancelled"),
    ],
)
def test_the_status_is_a_few_words(view, said):
    assert render.status(view) == said
    first = text_of(view).splitlines()[0]
    assert first.startswith(view["state"])
    assert first.endswith(said)


@pytest.mark.parametrize(
    ("sizes", "shown"),
    [
        ([5], "5"),
        ([96, 128], "96,128"),
        ([4096] * 8, "4096 x8"),
        ([1, 2, 3, 4], "1,2,3,4"),
        ([80, 176, 128, 72, 64], "80,176,.. (5)"),
    ],
)
def test_sizes_of_many_groups_are_abbreviated(sizes, shown):
    assert short(sizes) == shown


def test_a_job_that_nobody_takes_says_so_where_it_waits():
    lonely = job("queued", position=1, hint="no live worker takes\x1b[2J it")
    assert render.status(lonely) == "queued, number 1 in line; no live worker takes\\x1b[2J it"


def test_a_profile_has_a_line_a_kernel_and_says_what_saw_it():
    gemm = {
        "case": 0, "name": "gemm\x1b[2J", "duration_us": 81.5, "registers": 168,
        "shared_bytes": 99328, "occupancy": 0.3125, "gbytes_per_s": 2150.2, "tensor_pipe": 0.44,
    }  # fmt: skip
    unknown = dict.fromkeys(gemm) | {"case": 1, "name": "split", "duration_us": 20.0}
    links = {"report": "/v1/jobs/x/artifacts/profile.ncu-rep"}
    profile = {"tool": "ncu", "note": None, "kernels": [gemm, unknown], "links": links}
    lines = text_of(finished(profile=profile)).splitlines()
    assert [line.split() for line in lines if "gemm" in line or "split" in line] == [
        ["0", r"gemm\x1b[2J", "81.50", "168", "99328", "31%", "2150", "44%"],
        ["1", "split", "20.00", *("-",) * 5],
    ]
    assert lines[lines.index("seen by ncu") + 1] == (
        "to open in ncu-ui: halfbyte show JOB --artifact profile.ncu-rep > profile.ncu-rep"
    )


def test_a_profile_without_kernels_says_why():
    why = "ncu is not installed on this worker"
    profile = {"tool": "torch", "note": why, "kernels": [], "links": {}}
    text = text_of(finished(profile=profile))
    assert f"seen by torch: {why}\n" in text
    assert "ncu-ui" not in text


def test_only_a_ranked_time_that_is_doubted_is_told():
    fine = {"case": 10, "median_us": 100.0, "kernels_us": 90.0, "exceeds": False}
    text = text_of(finished(audit=[fine, {**fine, "case": 11, "kernels_us": 140, "exceeds": True}]))
    assert "kernels of case 11 take 140.00 us by ncu, its time is 100.00 us" in text
    assert "case 10" not in text
