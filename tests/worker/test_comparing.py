"""Comparisons on a judge whose GPU alone is a stand-in: two sandboxed runners, called in turns."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.job import Progress
from contract.submission import Candidate, Mode, Submission
from contract.verdict import Passed, Verdict
from kernels.problem import Case
from tests.worker.gpu_stand_in import EVENT_US, PROBLEM
from tests.worker.judge_harness import LIMITS, JudgeHarness, running_judge
from worker.comparing import ROUNDS, alone
from worker.messages import Begin, Failed, Judged, Stopped
from worker.settings import WorkerSettings

STAND_IN = str(Path(__file__).with_name("turns_stand_in.py"))
HONEST = Path("tests/candidates/honest_torch.py").read_bytes()
SLOWER = HONEST + b"\n# takes 1.05 times as long\n"
WRONG = Path("tests/candidates/wrong_zeros.py").read_bytes()
SMALL = (Case(m=(8,), n=(16,), k=(32,)),)


@pytest.fixture(scope="module")
def turns_judge() -> Iterator[JudgeHarness]:
    settings = WorkerSettings(limits=LIMITS, spares=2)
    with running_judge(settings, (STAND_IN,)) as running:
        yield running


def comparison(a: bytes, b: bytes, cases: tuple[Case, ...] = SMALL) -> Begin:
    """Compare two files; no bytes at all are the built-in kernel."""
    submission = Submission(
        problem=PROBLEM.name,
        mode=Mode.COMPARE,
        cases=cases,
        kernel=None if a else "portable",
        other=Candidate(kernel=None if b else "portable"),
        limits=LIMITS,
    )
    return Begin(submission=submission, source=a, other_source=b)


def compared(judge: JudgeHarness, *args, **kwargs) -> Verdict:
    judge.send(comparison(*args, **kwargs))
    end = judge.end()
    assert isinstance(end, Judged), end
    return end.verdict


@pytest.fixture(scope="module")
def slower(turns_judge: JudgeHarness) -> Passed:
    verdict = compared(turns_judge, HONEST, SLOWER, cases=PROBLEM.benchmarks)
    assert isinstance(verdict, Passed), verdict
    return verdict


def test_five_per_cent_are_told_apart(slower: Passed) -> None:
    overall = slower.compared.overall
    assert overall.decision == "slower"
    assert overall.low < 1.05 < overall.high
    assert overall.high - overall.low < 0.02
    assert overall.rounds == ROUNDS
    assert slower.summary.startswith("passed: B is slower: it takes")
    assert slower.score is None
    assert not slower.emulated


def test_both_sides_of_every_case_are_told(slower: Passed) -> None:
    assert slower.compared.at_fault is None
    for a, case in zip(slower.cases, slower.compared.cases, strict=True):
        assert (a.index, a.m, a.outcome) == (case.b.index, case.b.m, case.b.outcome)
        assert a.timing.samples == case.b.timing.samples == ROUNDS
        # The clock of the stand-in gets slower all the while, by a tenth in all.
        assert a.timing.median_us == pytest.approx(EVENT_US[len(a.m)], rel=0.2)
        assert case.ratio.ratio == pytest.approx(1.05, abs=0.01)


def test_the_same_file_is_no_difference(turns_judge: JudgeHarness) -> None:
    same = compared(turns_judge, HONEST, HONEST)
    assert same.compared.overall.decision == "no_difference"
    assert same.summary.startswith("passed: no difference (B over A: ")


def test_what_the_judges_clock_says_beyond_the_events_makes_no_difference(
    turns_judge: JudgeHarness,
) -> None:
    unexplained = HONEST + b"\n# 20 us are unexplained\n"
    verdict = compared(turns_judge, HONEST, unexplained)
    assert verdict.compared.overall.decision == "no_difference"
    assert verdict.compared.overall.low > 1.05, "12 us of 100 are billed"
    assert verdict.compared.cases[0].b.timing.method == "wall"


def test_it_takes_a_difference_away(turns_judge: JudgeHarness) -> None:
    """A file cannot look faster by what its own events leave out."""
    forged = HONEST + b"\n# takes 0.9 times as long\n# 20 us are unexplained\n"
    verdict = compared(turns_judge, HONEST, forged)
    assert verdict.compared.overall.decision == "no_difference"


def test_what_a_process_adds_to_all_its_events_makes_no_difference(
    turns_judge: JudgeHarness,
) -> None:
    verdict = compared(turns_judge, HONEST, HONEST + b"\n# its process adds 2.5 us\n")
    assert verdict.compared.overall.decision == "no_difference"
    (a,), (b,) = verdict.cases, verdict.compared.cases
    assert (a.timing.correction_us, b.b.timing.correction_us) == (0, 2.5)
    assert b.b.timing.event_median_us - b.b.timing.median_us == pytest.approx(2.5)
    assert b.ratio.high < 1.02


def test_a_device_in_use_before_any_file_runs_is_our_fault(turns_judge: JudgeHarness) -> None:
    late = HONEST + b"\n# somebody is at work before its import\n"
    turns_judge.send(comparison(HONEST, late))
    end = turns_judge.end()
    assert isinstance(end, Failed)
    assert end.fault.reason == "runner_failed"
    assert "the device was in use" in end.fault.message
    assert compared(turns_judge, HONEST, HONEST).outcome == "passed"


def test_one_that_goes_wrong_while_it_is_timed_ends_it_too(turns_judge: JudgeHarness) -> None:
    later = (
        HONEST
        + b"""
calls = 0
honest = custom_kernel
def custom_kernel(data):
    global calls
    calls += 1
    print("call", calls)
    found = honest(data)
    return [c.zero_() for c in found] if calls > 20 else found
"""
    )
    verdict = compared(turns_judge, HONEST, later)
    assert (verdict.outcome, verdict.reason) == ("incorrect", "values")
    assert verdict.compared.at_fault == "b"
    assert verdict.compared.cases[0].b.outcome == "incorrect"
    assert "call 21" in verdict.compared.log.stdout
    assert verdict.log.stdout == ""


def test_a_crash_at_import_is_told_of_the_right_one(turns_judge: JudgeHarness) -> None:
    verdict = compared(turns_judge, b"", b"raise RuntimeError('no')")
    assert verdict.outcome == "crashed"
    assert verdict.compared.at_fault == "b"
    assert verdict.summary.startswith("crashed at import of B: RuntimeError: no")


def test_of_work_left_on_the_device_nobody_knows_whose_it_is(turns_judge: JudgeHarness) -> None:
    verdict = compared(turns_judge, HONEST, HONEST + b"\n# leaves work on the device\n")
    assert (verdict.reason, verdict.compared.at_fault) == ("resident_kernel", None)
    assert "of A or B, it cannot be told" in verdict.message
    assert verdict.reproduce is None


def test_a_cancel_ends_both_runners_and_a_wrong_file_the_next_comparison(
    turns_judge: JudgeHarness,
) -> None:
    sleeps = b"import time\ndef custom_kernel(data):\n    time.sleep(60)\n"
    turns_judge.send(comparison(HONEST, sleeps))
    seen: list[Progress] = []
    while not (seen and seen[-1].stage == "testing" and seen.count(seen[-1]) == 2):
        seen.append(turns_judge.receive().progress)
    turns_judge.cancel()
    assert isinstance(turns_judge.end(), Stopped)
    verdict = compared(turns_judge, WRONG, HONEST)
    assert (verdict.outcome, verdict.compared.at_fault) == ("incorrect", "a")
    assert verdict.compared.overall is None
    assert "incorrect in case 0 of A: " in verdict.summary
    (a,), (b,) = verdict.cases, verdict.compared.cases
    assert (a.outcome, a.timing, b.b.outcome) == ("incorrect", None, None)
    assert '"mode": "test"' in verdict.reproduce


def test_a_judge_that_times_nothing_compares_nothing(judge: JudgeHarness) -> None:
    judge.send(comparison(HONEST, HONEST))
    end = judge.end()
    assert isinstance(end, Failed)
    assert "times nothing" in end.fault.message


def test_either_is_tested_as_itself_in_half_of_the_time() -> None:
    a, b = alone(comparison(b"", HONEST).submission)
    assert (a.mode, b.mode) == (Mode.TEST, Mode.TEST)
    assert (a.kernel, b.kernel, a.other) == ("portable", None, None)
    assert a.limits.job_s == b.limits.job_s == LIMITS.job_s / 2
