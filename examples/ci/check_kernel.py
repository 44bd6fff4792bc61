"""Fail a build whose kernel is wrong, or slower than its baseline.

python check_kernel.py my_kernel.py baseline.json

Exit codes: 0 right and fast enough, 1 wrong or slower, 3 no verdict or no time. A baseline whose
`geomean_us` is null asks for right values only, and the time to store in it is printed.
"""

import json
import sys
from pathlib import Path

from client import ClientError, Halfbyte

SLOWER = 1.03
"""Runs of the same kernel differ by a percent or two; `halfbyte compare` tells less apart."""
TIMEOUT_S = 1800


def main(kernel: Path, baseline: Path) -> int:
    """Return the exit code."""
    asked = json.loads(baseline.read_text())
    print(f"{kernel}: mode {asked['mode']}, device {asked['device']}", flush=True)
    try:
        with Halfbyte.configured() as halfbyte:
            verdict = halfbyte.evaluate(
                kernel, mode=asked["mode"], device=asked["device"], timeout_s=TIMEOUT_S
            )
    except ClientError as error:
        print("no verdict:", error, *getattr(error, "__notes__", ()))
        return 3
    print(verdict["summary"])
    if verdict["outcome"] != "passed":
        return 1
    before_us, score = asked["geomean_us"], verdict["score"]
    now_us = score and score["geomean_us"]
    print(f"{now_us} us, baseline {before_us} us")
    if before_us is None:
        return 0
    return 3 if now_us is None else int(now_us > SLOWER * before_us)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
