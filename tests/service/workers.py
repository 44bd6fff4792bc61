"""Workers that are alive, and what they find, for a service that has no real ones."""

from contract.job import WorkerInfo, WorkerState
from contract.queue import JobQueue
from contract.verdict import CaseResult, Environment, Incorrect, Log, Passed, Score, Verdict
from kernels.measurement import Comparison, Timing, Worst

HONEST = b"def custom_kernel(data):\n    return data[2]\n"

HERE = Environment(host="here", device="cpu", python="3.11", torch="2", triton="3", halfbyte="0")


def worker(device: str = "cpu", python: str = "3.11", state: WorkerState = WorkerState.IDLE):
    return WorkerInfo(
        id=f"{device}-{python}",
        pid=1,
        host="here",
        device=device,
        serves=(device, "any"),
        python=python,
        sandbox_level=0,
        state=state,
    )


def unfit(reason: str = "GPU-1 is in use by worker beta, process 7") -> WorkerInfo:
    """One whose judge never came up."""
    return WorkerInfo(
        id="unfit",
        pid=1,
        host="here",
        gpu="GPU-1",
        python="3.11",
        state=WorkerState.UNHEALTHY,
        reason=reason,
    )


async def finish_next(queue: JobQueue, verdict: Verdict) -> str:
    """Claim whatever waits, end it with the verdict, and return its id."""
    lease = await queue.claim(worker(), wait_s=10)
    assert lease is not None
    await queue.finish(lease, verdict)
    return lease.job.id


def timed(samples_us: tuple[float, ...] = (11.0, 12.5, 13.0)) -> Passed:
    """A verdict with one timed case."""
    timing = Timing(
        median_us=12.5,
        p10_us=11.0,
        p90_us=13.0,
        samples=len(samples_us),
        method="events",
        event_median_us=12.5,
        wall_median_us=30.0,
        overhead_us=14.0,
        end_to_end_us=40.0,
        unstable=False,
        launch_bound=False,
        tflops=1.5,
        gbytes_per_s=100.0,
        speed_of_light_us=5.0,
        fraction_of_speed_of_light=0.4,
        samples_us=samples_us,
    )
    case = CaseResult(
        index=0, m=(16,), n=(16,), k=(16,), distribution="official", outcome="passed", timing=timing
    )
    return Passed(
        summary="passed 1 case",
        cases=(case,),
        environment=HERE,
        sandbox_level=0,
        emulated=False,
        score=Score(geomean_us=12.5),
        log=Log(stdout="out ☃\n", stderr="err\n", stdout_bytes=9, stderr_bytes=4),
    )


def wrong_everywhere() -> Incorrect:
    """A verdict on a kernel that wrote NaN."""
    comparison = Comparison(
        max_abs_error=None,
        max_rel_error=None,
        mismatched_elements=256,
        non_finite_elements=256,
        bit_exact=False,
        worst=Worst(group=0, row=0, col=0, got="NaN", expected="-Infinity"),
    )
    case = CaseResult(
        index=0,
        m=(16,),
        n=(16,),
        k=(16,),
        distribution="official",
        outcome="incorrect",
        reason="values",
        message="group 0: NaN, expected -Infinity",
        comparison=comparison,
    )
    return Incorrect(
        summary="wrong values in case 0",
        reason="values",
        message="group 0: NaN, expected -Infinity",
        cases=(case,),
        environment=HERE,
        sandbox_level=0,
        emulated=True,
    )
