"""Ranked jobs on a judge whose GPU alone is a stand-in: what runs, what is told, what counts."""

import json
import statistics
from pathlib import Path

import pytest
from pydantic import ValidationError

from contract.submission import Mode, Submission
from contract.verdict import Incorrect, Passed
from kernels.problem import Case
from kernels.problems import PROBLEMS
from tests.worker import gpu_stand_in
from tests.worker.gpu_stand_in import EVENT_US, PROBLEM
from tests.worker.judge_harness import JudgeHarness
from worker.judge import case_seed
from worker.loop import may_rank
from worker.messages import Failed, Ready
from worker.plan import FIXED, HIDDEN_CASES, Plan, hidden_cases, plan_of
from worker.settings import WorkerSettings

HONEST = Path("tests/candidates/honest_torch.py").read_bytes()
OFFICIAL = PROBLEM.tests + PROBLEM.benchmarks


@pytest.fixture(scope="module")
def passed(gpu_judge: JudgeHarness) -> Passed:
    verdict = ranked(gpu_judge, HONEST)
    assert isinstance(verdict, Passed), verdict
    return verdict


def ranked(judge: JudgeHarness, source: bytes):
    return judge.judge(source, OFFICIAL, mode=Mode.RANKED)


def test_only_the_benchmarks_are_timed_and_scored(passed: Passed) -> None:
    timings = [case.timing for case in passed.cases]
    assert timings[: len(PROBLEM.tests)] == [None] * len(PROBLEM.tests)
    scored = [EVENT_US[len(case.m)] for case in PROBLEM.benchmarks]
    assert [timing.median_us for timing in timings[len(PROBLEM.tests) :]] == scored
    assert passed.score.geomean_us == statistics.geometric_mean(scored)
    assert not passed.emulated


def test_the_number_of_timed_calls_is_fixed_beforehand(
    gpu_judge: JudgeHarness, passed: Passed
) -> None:
    """A benchmark of the same cases stops as soon as they have settled."""
    adaptive = gpu_judge.judge(HONEST, PROBLEM.benchmarks, mode=Mode.BENCHMARK)
    counts = [
        [case.timing.samples for case in found.cases if case.timing] for found in (passed, adaptive)
    ]
    assert counts == [[FIXED.least] * 2, [20] * 2]


def test_hidden_cases_are_counted_and_not_told(passed: Passed) -> None:
    assert (passed.hidden.cases, passed.hidden.passed) == (HIDDEN_CASES, HIDDEN_CASES)
    assert [Case(each.m, each.n, each.k) for each in passed.cases] == list(OFFICIAL)
    assert f"and {HIDDEN_CASES} hidden cases" in passed.summary


def test_a_file_that_knows_the_official_sizes_only_fails_in_a_hidden_case(
    gpu_judge: JudgeHarness,
) -> None:
    known = {tuple(zip(case.m, case.n, case.k, strict=True)) for case in OFFICIAL}
    source = (
        HONEST
        + (
            f"\nKNOWN = {known}\nhonest = custom_kernel\n"
            "def custom_kernel(data):\n"
            "    sizes = tuple((m, n, k) for m, n, k, _ in data[3])\n"
            "    print('called with', sizes)\n"
            "    return honest(data) if sizes in KNOWN else [c.zero_() for _, _, c in data[0]]\n"
        ).encode()
    )
    verdict = ranked(gpu_judge, source)
    assert isinstance(verdict, Incorrect), verdict
    assert (verdict.reason, verdict.hidden.passed) == ("values", 0)
    assert "in a hidden case (4 of 4 cases passed)" in verdict.summary
    assert "group" not in verdict.message
    assert all(case.timing is None for case in verdict.cases)


def test_a_crash_in_a_hidden_case_leaves_the_benchmarks_unrun(gpu_judge: JudgeHarness) -> None:
    most = max(max(case.n) for case in OFFICIAL)
    source = HONEST.replace(
        b"    operands, scales, _, _ = data\n",
        f"    operands, scales, _, _ = data\n    assert data[3][0][1] <= {most}\n".encode(),
    )
    verdict = ranked(gpu_judge, source)
    assert (verdict.outcome, verdict.reason) == ("crashed", "exception")
    outcomes = [case.outcome for case in verdict.cases]
    assert outcomes == ["passed"] * len(PROBLEM.tests) + [None] * len(PROBLEM.benchmarks)
    assert "a hidden case failed" in verdict.message


def test_nothing_is_timed_after_a_test_that_failed(gpu_judge: JudgeHarness) -> None:
    source = HONEST.replace(
        b"    return [c for", b"    if len(operands) == 1: c[0, 0] += 9\n    return [c for"
    )
    verdict = ranked(gpu_judge, source)
    assert isinstance(verdict, Incorrect)
    assert [case.outcome for case in verdict.cases] == [
        *("passed", "incorrect"),
        *("incorrect", "passed"),
    ]
    assert verdict.hidden.passed == 0
    assert all(case.timing is None for case in verdict.cases)
    assert "in case 1" in verdict.summary


def test_seeds_are_drawn_for_each_job_and_told_afterwards(
    gpu_judge: JudgeHarness, passed: Passed
) -> None:
    seeds = {passed.seed, ranked(gpu_judge, HONEST).seed}
    assert len(seeds) == 2
    again = json.loads(passed.reproduce)
    assert again["mode"] == "benchmark"  # a ranked job takes no cases
    assert int(again["cases"][0]["seed"], 16) == case_seed(int(passed.seed, 16), 0, OFFICIAL[0])
    assert all(len(seed) == 32 for seed in seeds)


def test_a_judge_that_times_nothing_ranks_nobody(judge: JudgeHarness) -> None:
    judge.begin(HONEST, OFFICIAL, mode=Mode.RANKED)
    end = judge.end()
    assert isinstance(end, Failed)
    assert "times nothing" in end.fault.message


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=lambda problem: problem.name)
def test_hidden_cases_follow_from_their_seed_alone_and_look_like_official_ones(problem) -> None:
    assert hidden_cases(problem, 1) == hidden_cases(problem, 1)
    assert hidden_cases(problem, 1) != hidden_cases(problem, 2)
    for case in hidden_cases(problem, 3):
        problem.check(case)
        assert case.distribution == "full_range"
        assert all(m >= 1 and k % 256 == 0 for m, _, k in case.groups)
        assert problem.vector or all(n % 128 == 0 for n in case.n)
        assert problem.grouped or case.m[0] % 128 == 0
    assert len({case.seed for case in hidden_cases(problem, 4)}) == HIDDEN_CASES


def test_other_modes_hide_nothing() -> None:
    for mode, first_timed in ((Mode.TEST, 4), (Mode.BENCHMARK, 0)):
        submission = Submission(problem=PROBLEM.name, mode=mode, cases=OFFICIAL)
        assert plan_of(submission, 1) == Plan(first_timed)


@pytest.mark.parametrize(
    ("device", "level", "wanted", "may"),
    [
        ("H200", 2, 2, True),
        ("H200", 1, 2, False),
        ("H200", 1, 1, True),
        ("H200", 0, 1, False),
        ("cpu", 2, 1, False),
    ],
)
def test_a_worker_ranks_with_a_gpu_and_a_sandbox_as_tight_as_its_operator_wants(
    device: str, level: int, wanted: int, may: bool
) -> None:
    ready = Ready(
        environment=gpu_stand_in.describe("none").model_copy(update={"device": device}),
        serves=(device, "any"),
        sandbox_level=level,
    )
    assert may_rank(ready, WorkerSettings(ranked_level=wanted)) is may


def test_an_operator_may_rank_at_level_1_and_never_outside_of_a_sandbox(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HALFBYTE_WORKER_RANKED_LEVEL", "1")
    assert WorkerSettings().ranked_level == 1
    monkeypatch.setenv("HALFBYTE_WORKER_RANKED_LEVEL", "0")
    with pytest.raises(ValidationError, match="ranked_level"):
        WorkerSettings()
