"""`halfbyte leaderboard`, and what `halfbyte admin` has for organisers."""

import json

import pytest

from tests.client.answers import Answer, problem
from tests.client.conftest import body_of

BOARD = "/v1/leaderboards/nvfp4_group_gemm"
JOB = "f" * 32
RESULT = {
    "job": JOB, "owner": "ann", "problem": "nvfp4_group_gemm", "device": "H200",
    "geomean_us": 100.123456789, "created_at": "2026-01-02T03:04:05.000000Z",
    "finished_at": "2026-01-02T03:05:05.000000Z",
}  # fmt: skip
ENTRIES = {
    "entries": [{**RESULT, "rank": 1}, {**RESULT, "rank": 2, "owner": "bob\x1b[2J"}],
    "next_cursor": None,
}
WHY = {"at": "2026-01-03T00:00:00Z", "reason": "forged", "by": "root"}
DECIDED = {**RESULT, "counts": False, "disqualified": WHY}
HOOK = {"url": "https://b.example/", "name": "root", "since": "2026-01-02T03:04:05.000000Z"}


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_a_board_is_a_table_without_what_a_terminal_acts_on(halfbyte, service):
    service.tell("GET", BOARD, Answer(200, ENTRIES))
    done = halfbyte("leaderboard", "nvfp4_group_gemm", "--device", "H200", "--url", service.url)
    assert rows(done.stdout) == [
        ["rank", "time", "us", "owner", "sent", "(UTC)", "job"],
        ["1", "100.123", "ann", "2026-01-02", "03:04", JOB],
        ["2", "100.123", r"bob\x1b[2J", "2026-01-02", "03:04", JOB],
    ]
    assert service.requests[0].path == f"{BOARD}?device=H200&limit=50"


def test_without_a_problem_the_boards_are_listed(halfbyte, service):
    board = {"problem": "nvfp4_group_gemm", "device": "H200", "entries": 2, "best": RESULT}
    service.tell("GET", "/v1/leaderboards", Answer(200, {"leaderboards": [board]}))
    done = halfbyte("leaderboard", "--url", service.url)
    assert rows(done.stdout)[1:] == [["nvfp4_group_gemm", "H200", "2", "100.123", "ann"]]


def test_a_history_tells_why_a_result_is_out(halfbyte, service):
    late, good = ({**RESULT, "counts": counts, "disqualified": None} for counts in (False, True))
    page = {"results": [DECIDED, late, good], "next_cursor": None}
    service.tell("GET", f"{BOARD}/history", Answer(200, page))
    done = halfbyte("leaderboard", "nvfp4_group_gemm", "--history", "ann", "--url", service.url)
    assert [" ".join(row[3:]) for row in rows(done.stdout)[1:]] == [
        f"{JOB} disqualified: forged",
        f"{JOB} sent outside of the window",
        JOB,
    ]
    assert service.requests[0].path == f"{BOARD}/history?owner=ann&limit=50"


def test_an_empty_board_is_said_beside_the_output(halfbyte, service):
    service.tell("GET", BOARD, Answer(200, {"entries": [], "next_cursor": None}))
    done = halfbyte("leaderboard", "nvfp4_group_gemm", "--url", service.url)
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "",
        "nobody yet: a ranked job enters, and needs a worker with a GPU\n",
    )


def test_csv_is_printed_as_it_comes(halfbyte, service):
    service.tell("GET", f"{BOARD}/export", Answer(200, b"rank,owner\r\n1,ann\r\n"))
    done = halfbyte("leaderboard", "nvfp4_group_gemm", "--csv", "--url", service.url)
    assert done.stdout == "rank,owner\n1,ann\n"  # universal newlines of the test


def test_options_of_a_board_need_its_problem(halfbyte):
    done = halfbyte("leaderboard", "--csv")
    assert (done.returncode, "need a PROBLEM" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("word", "method", "path"),
    [
        ("disqualify", "POST", f"/v1/results/{JOB}/disqualify"),
        ("reinstate", "POST", f"/v1/results/{JOB}/reinstate"),
        ("delete-result", "DELETE", f"/v1/results/{JOB}"),
    ],
)
def test_a_decision_is_sent_with_its_reason(halfbyte, service, word, method, path):
    service.tell(method, path, Answer(200, DECIDED))
    said = ("--reason", "it forged", "--url", service.url, "--key", "hb_x")
    done = halfbyte("admin", word, JOB, *said)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(": ann, 100.123 us on H200\n")
    (request,) = service.requests
    assert request.headers["Authorization"] == "Bearer hb_x"
    if method == "POST":
        assert body_of(request) == {"reason": "it forged"}
    else:
        assert request.path == f"{path}?reason=it+forged"


def test_a_decision_without_a_reason_is_none(halfbyte, service):
    assert halfbyte("admin", "disqualify", JOB, "--url", service.url).returncode == 2
    assert service.requests == []


def test_what_the_service_refuses_is_said(halfbyte, service):
    told = problem(403, "this takes a key of role `admin`")
    service.tell("POST", f"/v1/results/{JOB}/disqualify", told)
    done = halfbyte("admin", "disqualify", JOB, "--reason", "x", "--url", service.url)
    assert (done.returncode, "role `admin`" in done.stderr) == (2, True)


def test_a_webhook_is_shown_set_and_unset(halfbyte, service):
    hook = "/v1/ranked/webhook"
    service.tell("GET", hook, Answer(200, HOOK))
    service.tell("PUT", hook, Answer(200, HOOK))
    service.tell("DELETE", hook, Answer(200, None))
    for more in ((), ("https://b.example/",)):
        done = halfbyte("admin", "webhook", *more, "--url", service.url)
        assert done.stdout == "https://b.example/, signed for root, since 2026-01-02 03:04\n"
    assert body_of(service.of("PUT")[0]) == {"url": "https://b.example/"}
    done = halfbyte("admin", "webhook", "--off", "--url", service.url)
    assert (done.returncode, done.stdout) == (0, "ranked verdicts are posted nowhere\n")
    assert len(service.of("DELETE")) == 1


def test_a_deadline_is_printed_with_the_board_and_in_the_list(halfbyte, service):
    bounds = {"opens_at": None, "closes_at": "2026-12-01T12:00:00.500000Z"}
    service.tell("GET", BOARD, Answer(200, {**ENTRIES, "window": bounds}))
    done = halfbyte("leaderboard", "nvfp4_group_gemm", "--url", service.url)
    assert done.stderr == "takes ranked jobs sent until 2026-12-01 12:00:00 UTC\n"
    board = {"problem": "nvfp4_group_gemm", "device": "H200", "entries": 2, "best": RESULT}
    empty = {**board, "device": "B200", "entries": 0, "best": None, "window": bounds}
    service.tell("GET", "/v1/leaderboards", Answer(200, {"leaderboards": [empty, board]}))
    done = halfbyte("leaderboard", "--url", service.url)
    assert rows(done.stdout) == [
        ["problem", "device", "owners", "best", "us", "owner", "opens", "(UTC)", "closes", "(UTC)"],
        ["nvfp4_group_gemm", "B200", "0", "2026-12-01", "12:00:00"],
        ["nvfp4_group_gemm", "H200", "2", "100.123", "ann"],
    ]


def test_a_window_is_shown_set_and_unset(halfbyte, service):
    path, at = f"{BOARD}/window", "2026-12-01T12:00:00Z"
    told = {"problem": "nvfp4_group_gemm", "device": "H200", "opens_at": at, "closes_at": None}
    changed = {**told, "included": 0, "excluded": 2, "hint": "it is over already"}
    for method, answer in (("GET", told), ("PUT", changed), ("DELETE", None)):
        service.tell(method, path, Answer(200, answer))
    which = ("admin", "window", "nvfp4_group_gemm", "--device", "H200", "--url", service.url)
    said = "nvfp4_group_gemm on H200 takes ranked jobs sent from 2026-12-01 12:00:00 UTC\n"
    noticed = "count no more: 2; it is over already\n"
    for more in ((), ("--opens", at), ("--opens", at, "--closes", at)):
        done = halfbyte(*which, *more)
        assert (done.stdout, done.stderr) == (said, noticed if more else "")
    assert [body_of(request) for request in service.of("PUT")] == [
        {"opens_at": at, "closes_at": None},
        {"opens_at": at, "closes_at": at},
    ]
    done = halfbyte(*which, "--off")
    said = "nvfp4_group_gemm on H200 takes ranked jobs at any time\n"
    assert (done.returncode, done.stdout) == (0, said)
    assert [request.path for request in service.of("DELETE")] == [f"{path}?device=H200"]
    assert halfbyte(*which, "--off", "--opens", at).returncode == 2
    assert json.loads(halfbyte(*which, "--json").stdout) == told


def test_json_is_the_answer_and_nothing_else(halfbyte, service):
    service.tell("GET", BOARD, Answer(200, ENTRIES))
    service.tell("POST", f"/v1/results/{JOB}/disqualify", Answer(200, DECIDED))
    done = halfbyte("leaderboard", "nvfp4_group_gemm", "--json", "--url", service.url)
    assert json.loads(done.stdout) == ENTRIES
    why = ("--reason", "x", "--json", "--url", service.url)
    assert json.loads(halfbyte("admin", "disqualify", JOB, *why).stdout) == DECIDED


def test_a_name_travels_with_the_job(halfbyte, service, tmp_path):
    file = tmp_path / "k.py"
    file.write_text("def custom_kernel(data): ...\n")
    halfbyte("submit", str(file), "--name", "ann", "--url", service.url)
    halfbyte("run", "--url", service.url, HALFBYTE_NAME="bob")
    assert [request.headers.get("Halfbyte-Name") for request in service.of("POST")] == [
        "ann",
        "bob",
    ]
