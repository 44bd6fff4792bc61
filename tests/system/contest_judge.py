"""Stands in for `worker.judge_main` in a contest: a GPU that is not there finds what a file says.

Real: the messages, and that a job takes its time. Not real: all else. Nothing runs; the first line
of the file (`# passed 12.5 us, lasts 0.05 s`) is the verdict. Only trials of leaderboards start it:
no setting leads here, and an emulated result stays one that never counts.
"""

import socket
import sys
import time

from contract.verdict import Environment, Incorrect, Passed, Score, Verdict
from worker.judge_start import hung_up
from worker.messages import TO_JUDGE, Begin, Judged, Ready, line
from worker.process_tree import die_with_parent

DEVICE = "H200"
HERE = Environment(
    host="nowhere", device=DEVICE, python="3.11", torch="none", triton="none", halfbyte="0"
)


def file_that(outcome: str, geomean_us: float, lasts_s: float) -> str:
    """A file for which the stand-in finds this."""
    head = f"# {outcome} {geomean_us!r} us, lasts {lasts_s:.3f} s"
    return f"{head}\ndef custom_kernel(data):\n    return data[2]\n"


def verdict_of(outcome: str, geomean_us: float) -> Verdict:
    if outcome == "incorrect":
        return Incorrect(
            summary="as the file says",
            reason="values",
            message="as the file says",
            environment=HERE,
            sandbox_level=2,
            emulated=False,
        )
    return Passed(
        summary="as the file says",
        environment=HERE,
        sandbox_level=0 if outcome == "unconfined" else 2,
        emulated=outcome == "emulated",
        score=Score(geomean_us=geomean_us),
    )


def main() -> None:
    die_with_parent()
    worker = socket.socket(fileno=int(sys.argv[1]))
    if hung_up(worker):
        return
    ready = Ready(environment=HERE, serves=(DEVICE, "sm_90", "any"), sandbox_level=2)
    for text in worker.makefile("rb"):
        match TO_JUDGE.validate_json(text):
            case Begin(source=source):
                _, outcome, geomean_us, _, _, lasts_s, *_ = source.decode().split()
                time.sleep(float(lasts_s))
                said = Judged(verdict=verdict_of(outcome, float(geomean_us)))
                worker.sendall(line(said))
            case _:
                worker.sendall(line(ready))


if __name__ == "__main__":
    main()
