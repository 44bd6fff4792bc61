"""popcorn-cli, unmodified: every request it makes, and what its users read and get as exit code."""

import asyncio
import json
import re
from types import SimpleNamespace

import pytest

from contract.errors import QueueUnavailable
from contract.job import Fault, Progress
from contract.leaderboard import Leaderboards
from contract.queue import JobQueue
from contract.verdict import VERDICT
from service.popcorn import patience
from service.popcorn.routes_stream import told_of
from service.settings import ServiceSettings
from tests.contract.examples import submission
from tests.service.conftest import serving
from tests.service.popcorn_cli import (
    FILE,
    ApplicationError,
    PopcornCli,
    document,
    form_of,
    printed,
)
from tests.service.popcorn_jobs import BOARD, H200, judged, ranked
from tests.service.workers import timed, unfit, worker, wrong_everywhere


async def test_boards_are_listed_without_seeds(cli, queue):
    await queue.heartbeat(H200)
    ((name, description), *_) = await cli.leaderboards()
    assert name == BOARD
    assert "C[g]" in description
    text = (await cli.request("GET", "/leaderboards")).text
    assert "seed" not in text
    assert json.loads(text)[0]["gpu_types"] == ["H200"]


async def test_devices_are_those_of_live_workers(cli, queue):
    await queue.heartbeat(unfit())
    assert await cli.gpus(BOARD) == ["any"]
    await queue.heartbeat(worker())
    await queue.heartbeat(H200)
    assert await cli.gpus(BOARD.upper()) == ["H200", "cpu"]


@pytest.mark.parametrize(
    "path", ["/gpus/nowhere", "/user/submissions?leaderboard=nowhere&limit=50"]
)
async def test_an_unknown_board_is_not_found_and_the_answer_names_those_there_are(cli, path):
    answer = await cli.request("GET", path)
    assert answer.status_code == 404
    assert f"there is no leaderboard 'nowhere'; there are: {BOARD}" in answer.json()["detail"]


async def test_a_test_that_passes_exits_0_and_prints_its_run(cli, queue, wait_until):
    await queue.heartbeat(H200)
    printing = asyncio.create_task(cli.submit("NVFP4_Group_GEMM", "h200", "Test", filename="é.py"))
    lease = await queue.claim(H200, wait_s=10)
    await queue.progress(lease, Progress(stage="testing", case=2, cases=10))
    await wait_until(lambda: any("testing case 3 of 10" in line for line in cli.log), "progress")
    await queue.finish(lease, timed())
    text = await printing
    assert text.startswith("pass: m: [16]; n: [16]; k: [16]; g: 1\n\n{")
    shown = document(text)
    assert (shown["done"], shown["leaderboard"]) == (True, "NVFP4_Group_GEMM")
    assert shown["file_name"] == "e.py"
    assert [(run["mode"], run["passed"], run["score"]) for run in shown["runs"]] == [
        ("test", True, None)
    ]
    assert cli.log[0].startswith("queue: ")
    assert lease.submission.source == FILE
    assert (lease.job.mode, lease.job.device) == ("test", "H200")


async def test_a_wrong_kernel_exits_1_with_case_and_place(cli, queue):
    printing = asyncio.create_task(cli.submit(BOARD, "any", "test"))
    await judged(queue, wrong_everywhere())
    with pytest.raises(ApplicationError) as error:
        await printing
    lines = str(error.value).splitlines()
    assert re.fullmatch(r"Submission \d+ failed: wrong values in case 0", lines[0])
    assert lines[1] == (
        "case 0 (m: [16]; n: [16]; k: [16]; g: 1): group 0: NaN, expected -Infinity"
    )


async def test_what_a_wrong_kernel_printed_is_shown(cli, queue):
    printing = asyncio.create_task(cli.submit(BOARD, "any", "test"))
    verdict = wrong_everywhere()
    log = verdict.log.model_copy(
        update={"stdout": "".join(f"line {i}\n" for i in range(50)) + "\x1b[2J"}
    )
    await judged(queue, verdict.model_copy(update={"log": log}))
    with pytest.raises(ApplicationError, match="it printed:\nline 31\n") as error:
        await printing
    assert "line 30\n" not in str(error.value)
    assert "\x1b" not in str(error.value)  # nothing that a terminal acts on


async def test_only_the_first_failing_cases_are_told(cli, queue):
    printing = asyncio.create_task(cli.submit(BOARD, "any", "test"))
    verdict = wrong_everywhere()
    (case,) = verdict.cases
    cases = tuple(case.model_copy(update={"index": index}) for index in range(5))
    await judged(queue, verdict.model_copy(update={"cases": cases}))
    with pytest.raises(ApplicationError, match=r"case 2 .*\nand 2 more failing cases") as error:
        await printing
    assert "case 3" not in str(error.value)


async def test_a_failure_of_ours_is_told_as_ours(cli, queue):
    printing = asyncio.create_task(cli.submit(BOARD, "any", "test"))
    for _ in range(2):
        lease = await queue.claim(H200, wait_s=10)
        await queue.release(lease, Fault(reason="judge_failed", message="the judge died"))
    with pytest.raises(ApplicationError, match="failed: not judged, through no fault of the file"):
        await printing


async def test_a_time_out_and_a_cancel_have_their_words(cli, queue, http):
    late = wrong_everywhere().model_dump() | {"outcome": "timed_out", "summary": "too late"}
    printing = asyncio.create_task(cli.submit(BOARD, "any", "test"))
    await judged(queue, VERDICT.validate_python(late))
    with pytest.raises(ApplicationError, match=r"timed_out: too late"):
        await printing
    number = await cli.accepted(BOARD, "any", "test")
    (newest, *_) = (await http.get("/v1/jobs")).json()["jobs"]
    await http.delete(newest["links"]["self"])
    seen = await cli.json("GET", f"/user/submissions/{number}")
    assert seen["job"] == {"status": "failed", "error": "the job was cancelled"}
    assert seen["done"] is True


async def test_a_benchmark_prints_the_time_of_each_case(cli, queue):
    printing = asyncio.create_task(cli.submit(BOARD, "H200", "benchmark"))
    await judged(queue, timed())
    text = await printing
    assert text.startswith("m: [16]; n: [16]; k: [16]; g: 1\n 12500 ns\n\n{")
    runs = document(text)["runs"]
    assert [(run["mode"], run["score"]) for run in runs] == [
        ("benchmark", pytest.approx(12.5e-6)),
        ("benchmark.0", pytest.approx(12.5e-6)),
    ]


@pytest.mark.parametrize(
    ("gpu", "shown"),
    [
        ("h200", "H200"),
        ("sm_90", "sm_90"),
        ("any", "any"),
        ("Nvidia", "Nvidia"),
    ],
)
async def test_a_ranked_run_prints_its_score_and_stands_on_the_board(cli, queue, gpu, shown):
    await queue.heartbeat(H200)
    printing = asyncio.create_task(cli.submit(BOARD, gpu, "leaderboard"))
    await judged(queue, ranked())
    text = await printing
    assert text.partition("\n\n{")[0] == f"Geomean score (public) on {shown}: 1.25e-05 s"
    runs = document(text)["runs"]
    assert [(run["mode"], run["secret"]) for run in runs if "." not in run["mode"]] == [
        ("test", False),
        ("benchmark", False),
        ("leaderboard", False),
        ("leaderboard", True),
    ]
    (board,) = await Leaderboards(queue.store).boards()
    assert (board.device, board.entries) == ("H200", 1)


@pytest.mark.parametrize("path", ["/user/submissions/{number}", "/jobs/{id}"])
async def test_a_look_outlasts_a_short_absence_of_the_queue(cli, queue, monkeypatch, path):
    number = await cli.accepted(BOARD, "any", "test")
    ((newest,), _) = await queue.list()
    absences, get = [QueueUnavailable("down")] * 2, JobQueue.get

    async def get_unless_away(self, job_id):
        if absences:
            raise absences.pop()
        return await get(self, job_id)

    monkeypatch.setattr(JobQueue, "get", get_unless_away)
    monkeypatch.setattr(patience, "AGAIN_S", 0.0)
    looked = path.format(number=number, id=newest.job.id)
    assert (await cli.request("GET", looked)).status_code == 200
    assert absences == []
    absences = [QueueUnavailable("down")] * 2
    monkeypatch.setattr(patience, "PATIENCE_S", 0.0)
    assert (await cli.request("GET", looked)).status_code == 503


async def test_where_a_job_stands_is_told_in_words(cli, queue):
    first = await cli.accepted(BOARD, "H200", "test")
    second = await cli.accepted(BOARD, "H200", "test")

    async def status(number: int) -> str:
        seen = await cli.json("GET", f"/user/submissions/{number}")
        assert seen["done"] is False
        assert seen["runner_queue"]["queued_jobs"] == 2
        return seen["job"]["status"]

    assert await status(first) == "queued, no worker for H200 is alive"
    await queue.heartbeat(H200)
    assert await status(first) == "queued, next in line"
    assert await status(second) == "queued, 1 before it"


@pytest.mark.parametrize(
    ("path", "content", "status", "says"),
    [
        (("nowhere", "any", "test"), FILE, 404, "there is no leaderboard"),
        ((BOARD, "abacus", "test"), FILE, 422, "unknown device"),
        ((BOARD, "any", "fastest"), FILE, 422, "known: test, benchmark, leaderboard, profile"),
        ((BOARD, "cpu", "leaderboard"), FILE, 422, "needs a GPU"),
        ((BOARD, "any", "test"), b"", 422, "the file is empty"),
        ((BOARD, "any", "test"), b"def f(:\n", 422, "syntax error in line 1"),
        ((BOARD, "any", "test"), b"x = 1\n", 422, "custom_kernel"),
        ((BOARD, "any", "test"), b"#" * 1_000_001, 413, "at most 1000000 bytes"),
    ],
)
async def test_a_refusal_says_why_and_leaves_nothing(cli, queue, path, content, status, says):
    with pytest.raises(ApplicationError, match=f"Server returned status {status} ") as error:
        await cli.submit(*path, content)
    assert says in str(error.value)
    assert (await queue.list())[0] == []


async def test_the_word_stream_is_a_word_like_others(cli):
    assert await cli.accepted(BOARD, "NVIDIA", "test", b"# a CUDA stream\n" + FILE)


@pytest.mark.parametrize(
    ("filename", "kept"),
    [
        ("é.py", "e.py"),
        ('my "best".py', "my__best_.py"),
        ("a\\b.cu", "b.cu"),
        ("..", "submission.py"),
    ],
)
async def test_file_names_are_kept_in_plain_characters(cli, filename, kept):
    number = await cli.accepted(BOARD, "any", "test", filename=filename)
    assert (await cli.json("GET", f"/user/submissions/{number}"))["file_name"] == kept


async def test_a_form_without_the_file_is_refused_in_words(cli):
    content_type, _ = form_of(FILE, "k.py")
    boundary = content_type.partition("=")[2]
    answer = await cli.request(
        "POST",
        f"/submission/{BOARD}/any/test",
        form=(content_type, f"--{boundary}--\r\n".encode()),
    )
    assert answer.status_code == 422
    assert isinstance(answer.json()["detail"], str)


async def test_older_clients_hear_the_same_in_one_stream(cli, queue, wait_until):
    listening = asyncio.create_task(cli.stream(BOARD, "any", "test"))
    await wait_until(lambda: cli.log, "a status")
    await judged(queue, timed())
    result = await listening
    (full,), (report,) = result["results"], result["reports"]
    assert full["runs"]["test"]["run"]["stdout"] == "out ☃\n"
    assert "case 0 (m: [16]; n: [16]; k: [16]; g: 1): 12.50 us" in printed(json.dumps([report]))
    assert "status: queued" in cli.log[0]


async def test_a_stream_ends_with_the_error_of_a_wrong_kernel(cli, queue):
    listening = asyncio.create_task(cli.stream(BOARD, "any", "benchmark"))
    await judged(queue, wrong_everywhere())
    with pytest.raises(ApplicationError, match="Server processing error: wrong values in case 0\n"):
        await listening


async def test_a_stream_outlives_an_absence_of_the_queue_and_says_so_at_its_end(queue, monkeypatch):
    job = await queue.submit(submission(), "ann")
    away, get = asyncio.Event(), queue.get

    async def get_unless_away(job_id: str):
        if away.is_set():
            raise QueueUnavailable("down")
        return await get(job_id)

    monkeypatch.setattr(queue, "get", get_unless_away)
    events = told_of(SimpleNamespace(queue=queue, stopping=asyncio.Event()), job)
    assert "status: queued" in (await anext(events)).data
    away.set()
    following = asyncio.ensure_future(anext(events))
    lease = await queue.claim(H200, wait_s=10)
    await asyncio.wait({following}, timeout=0.3)
    assert not following.done()
    away.clear()
    await queue.progress(lease, Progress(stage="testing", case=0, cases=1))
    assert "testing case 1 of 1" in (await following).data
    away.set()
    await queue.finish(lease, timed())
    (last,) = [each async for each in events]
    assert last.event == "error"
    assert f"the queue does not answer; submission {job.number} goes on" in last.data


async def test_an_address_may_end_with_a_slash_and_the_root_serves_by_a_setting(queue_settings):
    async with serving(queue_settings, ServiceSettings(popcorn_at_root=True)) as http:
        base = str(http.base_url).rstrip("/")
        for address in (base, f"{base}/", f"{base}/popcorn", f"{base}/popcorn/"):
            cli = PopcornCli(address, cli_id="me")
            assert (await cli.leaderboards())[0][0] == BOARD
            assert await cli.accepted(BOARD, "any", "test")
        assert (await http.post("/v1/jobs/x/y/z")).status_code in (404, 405)
        assert (await http.post("/v1/compat/run", json={})).status_code == 422
    async with serving(queue_settings) as http:
        assert (await http.get("/gpus/" + BOARD)).status_code == 404
