"""The judge's process: cancel, faults of ours, warm spares, and nothing left behind."""

import json
import os
import signal
import sys
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
        assert time.monotonic() < deadline_s, (
            f"waited {timeout_s} s for: {description}: {condition()}"
        )
        time.sleep(0.02)


def runners(judge: int) -> list[int]:
    """The Python processes of runners, whatever confines them."""
    return [pid for pid in descendants(judge) if is_runner(pid)]


def is_runner(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as cmdline:
            words = cmdline.read().decode().split("\0")
    except OSError:
        return False
    return words[0] == sys.executable and "worker.runner" in words and "--" not in words


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
    wait_for(lambda: len(runners(judge.process.pid)) <= 2, "only spares are left")


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


def test_a_seed_repeats_the_operands_of_every_call(judge: JudgeHarness) -> None:
    source = HONEST.replace(
        b"    return",
        b"    print(sum(data[0][0][0].view(torch.uint8).flatten().tolist()))\n    return",
    )
    source = b"import torch\n" + source

    def printed(seed: int | None) -> tuple[list[str], str]:
        verdict = judge.judge(source, (Case(m=(30,), n=(5,), k=(320,), seed=seed),))
        assert isinstance(verdict, Passed)
        return sorted(verdict.log.stdout.split()), verdict.reproduce

    first, reproduce = printed(77)
    assert len(set(first)) == 3  # no two calls have the same operands
    assert '"seed": "0000000000000000000000000000004d"' in reproduce
    assert printed(77)[0] == first
    assert printed(78)[0] != first
    other, reproduce = printed(None)
    again = int(json.loads(reproduce)["cases"][0]["seed"], 16)
    assert printed(again)[0] == other


def test_a_killed_spare_is_replaced_and_blames_nobody() -> None:
    with running_judge() as judge:
        pid = judge.process.pid
        wait_for(lambda: len(runners(pid)) == 2, "two spares run")
        for spare in runners(pid):
            os.kill(spare, signal.SIGKILL)
        assert isinstance(judge.judge(HONEST), Passed)
        wait_for(lambda: len(runners(pid)) == 2, "two spares run again")


def test_everything_ends_with_the_judge() -> None:
    with running_judge() as judge:
        judge.begin(b"import time\ndef custom_kernel(data):\n    time.sleep(1000)\n")
        while judge.receive().progress.stage != "testing":
            pass
        below = runners(judge.process.pid)
        assert len(below) >= 2
        judge.process.kill()
        judge.process.wait()
        wait_for(lambda: not any(map(is_runner, below)), "spares and runner are gone")
