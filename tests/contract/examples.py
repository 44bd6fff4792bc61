"""Submissions, workers and verdicts for tests of the queue."""

from contract.job import Fault, WorkerInfo
from contract.submission import Mode, Submission
from contract.verdict import Environment, Passed, Score
from kernels.problem import Case

LOST = Fault(reason="runner_failed", message="the runner would not start")


def submission(mode: Mode = Mode.TEST, device: str = "any", source: bytes | None = b"x = 1\n"):
    return Submission(
        problem="nvfp4_group_gemm",
        mode=mode,
        cases=(Case(m=(16, 0), n=(32, 32), k=(64, 16), seed=(1 << 128) - 1),),
        kernel="portable" if source is None else None,
        source=source,
        filename=None if source is None else "kernel.py",
        device=device,
    )


def worker(name: str = "w1", serves: tuple[str, ...] = ("any",)):
    return WorkerInfo(
        id=name, pid=1, host="here", device="cpu", serves=serves, python="3.11", sandbox_level=0
    )


def passed(summary: str = "passed 1 case", geomean_us: float | None = 12.5):
    return Passed(
        summary=summary,
        environment=Environment(
            host="here", device="cpu", python="3.11", torch="2", triton="3", halfbyte="0"
        ),
        sandbox_level=0,
        emulated=geomean_us is None,
        score=None if geomean_us is None else Score(geomean_us=geomean_us),
    )
