"""The judge's process: cancel, faults of ours, warm spares, and nothing left behind."""

import os
import signal
import time

import pytest

from contract.verdict import Passed
from kernels.problem import Case
from tests.worker.judge_harness import JudgeHarness, descendants, running_judge
from worker.messages import Judged, Stopped

HONEST = (
    b"from reference import ref_kernel\n\ndef custom_kernel(data):\n    return ref_kernel(data)\n"
)
ENDLESS = (
    b"import os, time\n"
    b"if os.fork() == 0:\n    os.setsid()\n    time.sleep(1000)\n"
    b"def custom_kernel(data):\n    time.sleep(1000)\n"
)


def wait_for(condition, description: str, timeout_s: float = 20) -> None:
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline_s, f"waited {timeout_s} s for: {description}"
        time.sleep(0.02)


def commands(pids: list[int]) -> list[str]:
    found = []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as cmdline:
                found.append(cmdline.read().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


@pytest.mark.parametrize("stage", ["importing", "testing"])
def test_a_cancel_stops_a_job_and_all_its_processes(judge: JudgeHarness, stage: str) -> None:
    source = (
        ENDLESS
        if stage == "testing"
        else ENDLESS.replace(b"def custom", b"time.sleep(1000)\ndef custom")
    )
    judge.begin(source)
    while judge.receive().progress.stage != stage:
        pass
    judge.cancel()
    assert isinstance(judge.end(), Stopped)
    wait_for(lambda: len(descendants(judge.process.pid)) <= 4, "only spares are left")


def test_a_cancel_right_behind_its_job_stops_it(judge: JudgeHarness) -> None:
    judge.begin(ENDLESS)
    judge.cancel()
    assert isinstance(judge.end(), Stopped)


def test_a_late_cancel_does_not_hit_the_next_job(judge: JudgeHarness) -> None:
    assert isinstance(judge.judge(HONEST), Passed)
    judge.cancel()
    assert isinstance(judge.judge(HONEST), Passed)


def test_progress_names_the_stages_and_the_cases(judge: JudgeHarness) -> None:
    small = Case(m=(2,), n=(3,), k=(16,))
    progress = []
    judge.begin(HONEST, (small, small))
    assert isinstance(judge.end(progress), Judged)
    assert [(step.stage, step.case) for step in progress] == [
        ("starting", None),
        ("importing", None),
        ("testing", 0),
        ("testing", 1),
    ]


def test_a_verdict_can_be_repeated_with_its_seed(judge: JudgeHarness) -> None:
    source = HONEST.replace(b"ref_kernel(data)", b"[out * 2 for out in ref_kernel(data)]")
    first = judge.judge(source, (Case(m=(3,), n=(5,), k=(32,), seed=77),))
    again = judge.judge(source, (Case(m=(3,), n=(5,), k=(32,), seed=77),))
    other = judge.judge(source, (Case(m=(3,), n=(5,), k=(32,)),))
    assert '"seed": "0000000000000000000000000000004d"' in first.reproduce
    assert first.seed != again.seed
    assert first.cases[0].comparison == again.cases[0].comparison
    assert other.seed not in other.reproduce  # what repeats a case is the case's own seed


def test_a_killed_spare_is_replaced_and_blames_nobody() -> None:
    with running_judge() as judge:
        pid = judge.process.pid
        wait_for(lambda: len(descendants(pid)) == 2, "two spares run")
        for spare in descendants(pid):
            os.kill(spare, signal.SIGKILL)
        assert isinstance(judge.judge(HONEST), Passed)
        wait_for(lambda: len(descendants(pid)) == 2, "two spares run again")


def test_everything_ends_with_the_judge() -> None:
    with running_judge() as judge:
        judge.begin(b"import time\ndef custom_kernel(data):\n    time.sleep(1000)\n")
        while judge.receive().progress.stage != "testing":
            pass
        below = descendants(judge.process.pid)
        assert len(below) >= 2
        judge.process.kill()
        judge.process.wait()
        wait_for(lambda: not commands(below), "spares and runner are gone")
