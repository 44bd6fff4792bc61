"""A contest of 200 competitors with 2 000 submissions: see tests/system/contest.py.

    .venv/bin/python -m bench.contest [--out bench/results/contest.json] [--competitors 200] ...
    .venv/bin/python -m bench.contest --pause-s 0 --out bench/results/contest_at_once.json

Prints a report; ends with 1 where the leaderboard, a history, the feed or a quota was wrong.
Competitors and service share the machine, so latencies are those of both.
"""

import argparse
import sys
from dataclasses import fields
from pathlib import Path

from bench.report import keep
from tests.system.contest import Plan, run

WHOLE = Plan(
    competitors=200,
    submissions=10,
    workers=4,
    apis=2,
    lasts_s=0.1,
    pause_s=12.0,
    greedy=4,
    jobs_waiting=3,
    jobs_a_minute=8,
    gpu_seconds_an_hour=4,
    patience_s=70.0,
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for each in fields(Plan):
        default = getattr(WHOLE, each.name)
        parser.add_argument(f"--{each.name.replace('_', '-')}", type=type(default), default=default)
    parser.add_argument("--out", type=Path)
    options = vars(parser.parse_args())
    out = options.pop("out")
    report = run(Plan(**options))
    keep(report, out)
    return 1 if report["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
