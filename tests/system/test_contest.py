"""A small contest; `bench.contest` holds the large one."""

import pytest

from tests.system.contest import Plan, run
from tests.system.contest_people import Sent, board_of, quotas_broken

PLAN = Plan(
    competitors=20,
    submissions=5,
    workers=2,
    apis=1,
    lasts_s=0.04,
    pause_s=0,
    greedy=1,
    jobs_waiting=2,
    jobs_a_minute=7,
    gpu_seconds_an_hour=60,
    patience_s=3,
)


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_a_contest_has_the_right_board_and_keeps_its_quotas() -> None:
    report = run(PLAN)
    assert report["wrong"] == []
    assert report["jobs"] >= PLAN.competitors * PLAN.submissions
    assert 0 < report["owners_on_the_board"] <= PLAN.competitors + PLAN.greedy
    assert set(report["refused_by_quota"]) >= {"jobs_a_minute", "jobs_waiting"}


def test_our_own_board_is_the_best_of_each_and_the_earlier_of_two() -> None:
    rows = [("a", 1, "passed", 3.0), ("b", 2, "passed", 2.0), ("a", 3, "passed", 2.0)]
    rows += [("c", 4, "incorrect", 1.0), ("b", 5, "passed", 2.0)]
    sent = [Sent(owner, str(number), number, how, us) for owner, number, how, us in rows]
    assert [each.number for each in board_of(sent)] == [2, 3]
    assert [each.number for each in board_of(sent, frozenset("2"))] == [3, 5]


def test_a_broken_quota_is_seen() -> None:
    quota = {"jobs_waiting": 2, "jobs_a_minute": 3, "gpu_seconds_an_hour": 5}

    def job(created_s: float, started_s: float, finished_s: float) -> dict[str, object]:
        return {
            "owner": "a",
            "created_s": created_s,
            "started_s": started_s,
            "finished_s": finished_s,
        }

    assert quotas_broken([job(0, 1, 2), job(1, 2, 3), job(70, 71, 72)], quota) == []
    assert quotas_broken([job(each, 9, 9.1) for each in range(3)], quota) == ["a: 3 jobs waited"]
    many = quotas_broken([job(each, each, each + 0.1) for each in range(4)], quota)
    assert many == ["a: 4 jobs in a minute"]
    assert quotas_broken([job(0, 0, 6), job(100, 100, 101)], quota) == [
        "a: a job after 6.00 s on GPUs"
    ]
