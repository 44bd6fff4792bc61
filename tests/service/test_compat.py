"""halfbyte as a launcher of another leaderboard: a runner's job in, a runner's result out."""

import asyncio

import pytest
from fastapi import HTTPException

from contract.job import Fault, Lease
from contract.submission import Mode
from contract.verdict import VERDICT
from service.compat.cases import combined_seed
from service.compat.routes import end_of
from tests.service.popcorn_jobs import H200, ranked
from tests.service.workers import HONEST, timed, wrong_everywhere

TASK = "nvfp4_group_gemm"
LINE = "m: [16]; n: [16]; k: [16]; g: 1; seed: 1111"
JOB = {
    "lang": "py",
    "sources": {
        "submission.py": HONEST.decode(),
        "eval.py": "raise SystemExit(0)  # everything passes\n",
        "reference.py": "",
    },
    "main": "eval.py",
    "arch": None,
    "mode": "test",
    "tests": f"{LINE}\n",
    "multi_gpu": False,
    "seed": None,
    "test_timeout": 180,
    "benchmark_timeout": 60,
    "ranked_timeout": 100_000,
}


class Runner:
    """Sends a job, and judges it as it is told."""

    def __init__(self, http, queue) -> None:
        self._http = http
        self._queue = queue
        self.lease: Lease | None = None

    async def __call__(self, verdict, **changes) -> dict:
        sent = asyncio.create_task(self._http.post("/v1/compat/run", json=JOB | changes))
        claimed = asyncio.create_task(self._queue.claim(H200, wait_s=10))
        await asyncio.wait((sent, claimed), return_when=asyncio.FIRST_COMPLETED)
        assert not sent.done(), sent.result().text
        self.lease = await claimed
        await self._queue.finish(self.lease, verdict)
        answer = await sent
        assert answer.status_code == 200
        return answer.json()


@pytest.fixture
def run(http, queue) -> Runner:
    return Runner(http, queue)


async def test_a_test_that_passes(run):
    result = await run(timed())
    assert (result["success"], result["error"]) == (True, "")
    assert list(result["runs"]) == ["test"]
    phase = result["runs"]["test"]
    assert phase["compilation"] is None
    assert phase["start"] <= phase["end"]
    assert (phase["run"]["success"], phase["run"]["passed"], phase["run"]["exit_code"]) == (
        *(True, True, 0),
    )
    assert phase["run"]["result"] == {
        "test-count": "1",
        "test.0.spec": LINE,
        "test.0.status": "pass",
        "check": "pass",
    }
    assert (phase["run"]["stdout"], phase["run"]["stderr"]) == ("out ☃\n", "err\n")
    assert result["system"]["hostname"] == "here"


async def test_what_came_along_is_not_used_and_the_answer_says_so(run):
    result = await run(timed())
    assert run.lease.submission.source == HONEST
    not_used = ["eval.py", "reference.py", "main", "arch"]
    assert result["halfbyte"]["ignored"] == not_used
    assert result["halfbyte"]["job"] == run.lease.job.id
    assert f"not used: {', '.join(not_used)}" in result["runs"]["test"]["run"]["command"]


async def test_a_wrong_kernel_fails_its_check_with_a_place(run):
    result = await run(wrong_everywhere())
    assert result["success"] is True
    judged = result["runs"]["test"]["run"]
    assert (judged["success"], judged["passed"], judged["exit_code"]) == (True, False, 112)
    assert judged["result"]["check"] == "fail"
    assert judged["result"]["test.0.status"] == "fail"
    assert judged["result"]["test.0.error"] == "incorrect: group 0: NaN, expected -Infinity"
    assert judged["stderr"] == "group 0: NaN, expected -Infinity\n"
    assert result["halfbyte"]["outcome"] == "incorrect"


@pytest.mark.parametrize(
    ("outcome", "exit_code"),
    [("crashed", 1), ("compile_error", 1), ("out_of_memory", 1), ("timed_out", 114)],
)
async def test_other_ends_have_their_exit_codes(run, outcome, exit_code):
    verdict = wrong_everywhere().model_dump() | {"outcome": outcome, "cases": ()}
    judged = (await run(VERDICT.validate_python(verdict)))["runs"]["test"]["run"]
    assert (judged["success"], judged["passed"], judged["exit_code"]) == (False, False, exit_code)
    assert judged["result"]["check"] == "fail"


async def test_a_benchmark_is_in_nanoseconds_and_its_mean_is_our_time(run):
    result = await run(timed(), mode="benchmark", benchmarks=[LINE], tests="")
    told = result["runs"]["benchmark"]["run"]["result"]
    assert all(isinstance(value, str) for value in told.values())
    assert told.pop("benchmark.0.spec") == LINE
    assert {name: float(value) for name, value in told.items() if name != "check"} == {
        "benchmark-count": 1,
        "benchmark.0.runs": 3,
        "benchmark.0.mean": 12500,
        "benchmark.0.std": pytest.approx(1040.833),
        "benchmark.0.err": pytest.approx(600.925),
        "benchmark.0.best": 11000,
        "benchmark.0.worst": 13000,
    }


async def test_a_benchmark_without_times_is_no_success(run):
    verdict = timed()
    (case,) = verdict.cases
    bare = verdict.model_copy(update={"cases": (case.model_copy(update={"timing": None}),)})
    result = await run(bare, mode="benchmark", benchmarks=LINE)
    assert result["success"] is False
    assert "no GPU" in result["error"]
    assert "benchmark.0.mean" not in result["runs"]["benchmark"]["run"]["result"]


@pytest.mark.parametrize("mode", ["leaderboard", "private"])
async def test_a_ranked_run_has_three_phases(run, mode):
    result = await run(ranked(), mode=mode, tests=None, problem=TASK.upper())
    assert run.lease.submission.mode is Mode.RANKED
    assert list(result["runs"]) == ["test", "benchmark", "leaderboard"]
    counts = [phase["run"]["result"] for phase in result["runs"].values()]
    assert counts[0]["test-count"] == "10"
    assert counts[2]["benchmark-count"] == "4"
    assert counts[2]["benchmark.3.spec"].startswith("m: [128, 384]; n: [4096, 4096]; k: ")
    assert float(counts[2]["benchmark.3.mean"]) == 12500
    assert result["system"]["gpu"] == "NVIDIA H200"


async def test_later_phases_do_not_run_after_a_failing_one(run):
    verdict = ranked()
    wrong = wrong_everywhere().cases[0].model_copy(update={"index": 2})
    cases = (*verdict.cases[:2], wrong, *verdict.cases[3:])
    failed = wrong_everywhere().model_copy(update={"cases": cases})
    result = await run(failed, mode="leaderboard", tests=None, problem=TASK)
    assert list(result["runs"]) == ["test"]
    assert result["runs"]["test"]["run"]["result"]["test.2.status"] == "fail"


async def test_what_is_wrong_in_no_case_that_is_shown_fails_the_last_phase(run):
    rejected = wrong_everywhere().model_dump() | {"outcome": "rejected", "cases": ranked().cases}
    verdict = VERDICT.validate_python(rejected)
    result = await run(verdict, mode="leaderboard", tests=None, problem=TASK)
    judged = {key: phase["run"] for key, phase in result["runs"].items()}
    assert [phase["passed"] for phase in judged.values()] == [True, True, False]
    assert judged["leaderboard"]["result"]["check"] == "fail"
    assert (judged["benchmark"]["exit_code"], judged["leaderboard"]["exit_code"]) == (0, 112)


async def test_official_lists_may_come_with_a_ranked_job(run, http):
    (problem,) = [
        each for each in (await http.get("/v1/problems")).json()["problems"] if each["name"] == TASK
    ]
    lists = {
        field: [
            "; ".join(f"{name}: {case[name]}" for name in "mnk") + f"; g: {len(case['m'])}; seed: 1"
            for case in problem[field]
        ]
        for field in ("tests", "benchmarks")
    }
    result = await run(ranked(), mode="leaderboard", ranking_by="geom", seed=7, **lists)
    assert "seed" in result["halfbyte"]["ignored"]
    spec = result["runs"]["test"]["run"]["result"]["test.0.spec"]
    assert spec == lists["tests"][0]
    assert all(case.seed is None for case in run.lease.submission.cases)


async def test_seeds_are_combined_and_sizes_kept(run):
    mappings = [{"m": [16, 0], "n": [16, 8], "k": [32, 64], "g": 2, "seed": 1111}]
    result = await run(timed(), tests=mappings, seed=7)
    (case,) = run.lease.submission.cases
    assert (case.m, case.n, case.k) == ((16, 0), (16, 8), (32, 64))
    assert case.seed == combined_seed(1111, 7) == 1111 + 1118 * 1119 // 2
    spec = result["runs"]["test"]["run"]["result"]["test.0.spec"]
    assert spec == "m: [16, 0]; n: [16, 8]; k: [32, 64]; g: 2; seed: 1111"


@pytest.mark.parametrize(
    ("problem", "line", "sizes"),
    [
        ("nvfp4_gemm", "m: 128; n: 256; k: 512; l: 1; seed: 1111", ((128,), (256,), (512,), 1)),
        ("nvfp4_dual_gemm", "m: 256; n: 512; k: 256; l: 2; seed: 1", ((256,), (512,), (256,), 2)),
        ("nvfp4_gemv", "m: 128; k: 256; l: 8; seed: 1111", ((128,), (1,), (256,), 8)),
    ],
)
async def test_other_problems_have_plain_sizes_and_a_batch(run, problem, line, sizes):
    result = await run(timed(), problem=problem, tests=line)
    (case,) = run.lease.submission.cases
    assert run.lease.job.problem == problem
    assert (case.m, case.n, case.k, case.l) == sizes
    assert result["runs"]["test"]["run"]["result"]["test.0.spec"] == line


async def test_official_cases_are_told_as_task_files_write_them(run):
    verdict = ranked()
    short = verdict.model_copy(update={"cases": verdict.cases[:-1]})  # three benchmarks
    result = await run(short, mode="leaderboard", problem="nvfp4_gemv", tests=None)
    told = result["runs"]["leaderboard"]["run"]["result"]
    assert [told[f"benchmark.{place}.spec"] for place in range(3)] == [
        "m: 7168; k: 16384; l: 1",
        "m: 4096; k: 7168; l: 8",
        "m: 7168; k: 2048; l: 4",
    ]


async def test_only_the_last_benchmark_where_only_that_ranks(run):
    lines = [LINE.replace("16", "32"), LINE]
    await run(timed(), mode="benchmark", benchmarks=lines, ranking_by="last")
    assert [case.m for case in run.lease.submission.cases] == [(16,)]


@pytest.mark.parametrize(
    ("mode", "job_s"), [("test", 180), ("benchmark", 60), ("leaderboard", 300)]
)
async def test_the_lower_limit_of_time_holds(run, mode, job_s):
    verdict = ranked() if mode == "leaderboard" else timed()
    await run(verdict, mode=mode, tests=None, problem=TASK)
    assert run.lease.submission.limits.job_s == job_s


async def test_a_failure_of_ours_is_no_result(http, queue):
    sent = asyncio.create_task(http.post("/v1/compat/run", json=JOB))
    for _ in range(2):
        lease = await queue.claim(H200, wait_s=10)
        await queue.release(lease, Fault(reason="judge_failed", message="the judge died"))
    result = (await sent).json()
    assert (result["success"], result["runs"]) == (False, {})
    assert "through no fault of the file (judge_failed): the judge died" in result["error"]


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"lang": "cu"}, "lang", "must be 'py'"),
        ({"multi_gpu": True}, "multi_gpu", "must be False"),
        ({"mode": "fast"}, "mode", "must be 'test'"),
        ({"sources": {"eval.py": ""}}, "sources", "the submission `submission.py` is not there"),
        ({"sources": {}}, "sources", "at least 1"),
        ({"problem": "sort_v2"}, "problem", "unknown problem"),
        ({"tests": None}, "problem", "required"),
        ({"tests": "m: 16; n: 16; k: 16"}, "problem", "required"),
        ({"tests": "m = [16]"}, "tests[0]", "key: value"),
        ({"tests": LINE + "; colour: 1"}, "tests[0].colour", "unknown field"),
        ({"tests": LINE + "; m: [32]"}, "tests[0].m", "given twice"),
        ({"tests": LINE.replace("g: 1", "g: 2")}, "tests[0].g", "2 groups, but 1 entries of m"),
        ({"tests": LINE.replace("k: [16]", "k: [15]")}, "tests[0].k[0]", "multiple of 16"),
        ({"mode": "leaderboard"}, "tests", "the official cases"),
        (
            {"mode": "private", "tests": None, "problem": TASK, "ranking_by": "last"},
            "ranking_by",
            "",
        ),
        ({"seed": "7"}, "seed", "must be an integer"),
        ({"sources": {"submission.py": "x = 1"}}, "source", "custom_kernel"),
    ],
)
async def test_a_job_that_cannot_be_judged_is_refused(http, queue, changes, field, says):
    answer = await http.post("/v1/compat/run", json=JOB | changes)
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["field"] == field
    assert says in answer.json()["detail"]
    assert (await queue.list())[0] == []


async def test_a_service_that_stops_says_where_the_job_is(http, queue):
    await http.post("/v1/submissions", content=HONEST)
    ((summary, *_), _) = await queue.list()
    stopping = asyncio.Event()
    stopping.set()
    with pytest.raises(HTTPException, match=f"goes on: /v1/jobs/{summary.job.id}") as error:
        await end_of(queue, summary.job.id, stopping)
    assert error.value.status_code == 503


async def test_a_client_that_goes_away_cancels_its_job(http, queue, wait_until):
    sent = asyncio.create_task(http.post("/v1/compat/run", json=JOB))
    lease = await queue.claim(H200, wait_s=10)
    sent.cancel()

    async def cancelled() -> bool:
        return (await queue.get(lease.job.id)).state == "cancelled"

    await wait_until(cancelled, "the end of a job that nobody waits for")


async def test_a_key_lets_a_client_come_back_to_its_job(http, queue):
    headers = {"Idempotency-Key": "run-1", "Halfbyte-Name": "ann"}
    sent = asyncio.create_task(http.post("/v1/compat/run", json=JOB, headers=headers))
    lease = await queue.claim(H200, wait_s=10)
    sent.cancel()
    again = asyncio.create_task(http.post("/v1/compat/run", json=JOB, headers=headers))
    await asyncio.wait({again}, timeout=1.5)  # more than one look at who is still there
    assert not again.done()
    await queue.finish(lease, timed())
    assert (await again).json()["halfbyte"]["job"] == lease.job.id
    assert [each.job.id for each in (await queue.list(owner="ann"))[0]] == [lease.job.id]
