"""Chaos, and what was left standing: see tests/system/chaos.py.

    make chaos
    .venv/bin/python -m bench.chaos [--seconds 300] [--jobs 600] [--seed N] [--server installed]

Prints a report; ends with 1 where something was lost, ended twice, changed, or was left behind.
The seed repeats the plan of attacks.
"""

import argparse
import os
import random
import sys
from pathlib import Path

from bench.report import keep
from tests.redis_server import SERVERS
from tests.system.chaos import Plan, run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--jobs", type=int, default=600)
    parser.add_argument("--lease-s", type=float, default=15)
    parser.add_argument("--beat-s", type=float, default=2)
    parser.add_argument("--gap-s", type=float, default=5, help="mean time between two attacks")
    parser.add_argument("--real-judges", type=int, default=1, help="workers that judge for real")
    parser.add_argument("--first-uid", type=int, default=62_000, help="of candidates")
    parser.add_argument("--server", choices=sorted(SERVERS), default="valkey9")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--out", type=Path)
    options = vars(parser.parse_args())
    out = options.pop("out")
    print(f"seed {options['seed']}", flush=True)
    report = run(Plan(**options)) | {"load_average": os.getloadavg()}
    keep(report, out)
    return 1 if report["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
