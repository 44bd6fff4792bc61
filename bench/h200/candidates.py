"""What becomes of the candidates that need a GPU: a recorded run, one verdict after the other.

    python bench/h200/candidates.py OUT.json [NAME ...]

`pytest -m gpu tests/worker/test_candidates.py` checks the same; this keeps the figures.
"""

import dataclasses
import json
import sys
import time
from pathlib import Path

from contract.submission import Mode
from contract.verdict import Verdict
from tests.worker.judge_harness import running_judge
from tests.worker.test_candidates import CANDIDATES, CASES, expectations


def found_of(verdict: Verdict) -> dict[str, object]:
    return {
        "outcome": type(verdict).__name__,
        "reason": getattr(verdict, "reason", None),
        "summary": verdict.summary,
        "stdout": verdict.log.stdout[-500:],
        "stderr": verdict.log.stderr[-1000:],
        "cases": [
            {
                "outcome": case.outcome,
                "reason": case.reason,
                "message": case.message,
                "timing": case.timing and dataclasses.asdict(case.timing),
            }
            for case in verdict.cases
        ],
    }


def main() -> None:
    out = Path(sys.argv[1])
    wanted = sys.argv[2:]
    found: dict[str, object] = {}
    with running_judge() as judge:
        for path in CANDIDATES:
            promised = expectations(path)
            if promised.get("needs") != "gpu" or (wanted and path.stem not in wanted):
                continue
            began = time.monotonic()
            try:
                row = found_of(
                    judge.judge(
                        path.read_bytes(), CASES[promised["cases"]], mode=Mode(promised["mode"])
                    )
                )
            except AssertionError as error:
                row = {"outcome": "none", "reason": None, "summary": str(error), "cases": []}
            row |= {"promised": promised, "took_s": time.monotonic() - began}
            row["as_promised"] = row["outcome"] in promised["outcome"].split(" or ") and (
                row["reason"] in promised.get("reason", str(row["reason"])).split(" or ")
                or row["reason"] is None
            )
            found[path.stem] = row
            print(
                "ok  " if row["as_promised"] else "WRONG",
                f"{row['took_s']:5.1f} s",
                path.stem,
                row["outcome"],
                row["reason"],
                str(row["summary"])[:200],
                flush=True,
            )
            out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
