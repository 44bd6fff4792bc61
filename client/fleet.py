"""Workers of this machine: one a GPU, or as many as are wanted where there is none."""

from pathlib import Path
from typing import NoReturn

from client.child import become, python
from client.environment import inherited
from client.errors import UsageError
from client.gpus import NONE, chosen, gpus_here
from client.signals import HeldSignals
from client.supervisor import Spec, Supervisor
from client.terminal import say

GPU = "HALFBYTE_WORKER_GPU"
WORKER_GRACE_S = 45.0
"""More than a worker gives its running job, so that it can still put the job back."""


def worker_specs(gpus: str, count: int | None, redis_url: str, name: str = "worker") -> list[Spec]:
    """Return what to start: one worker for each GPU named, or `count` where there is no GPU.

    `name` is the first part of the names of their logs.

    Raises:
        UsageError: a GPU that is named is not here, or there are not enough for `count`.

    """
    found = chosen(gpus)
    if found and count is not None and count > len(found):
        raise UsageError(
            f"--workers {count}: a GPU has one worker, and of {gpus} there are {len(found)}"
        )
    if found:
        given = [{GPU: uuid} for uuid in found[:count]]
    else:
        given = [{GPU: NONE} if gpus == NONE else {}] * (1 if count is None else count)
    return [
        Spec(
            f"{name}-{number}",
            python("worker.main"),
            inherited(HALFBYTE_QUEUE_REDIS_URL=redis_url, **gpu),
            WORKER_GRACE_S,
            may_end=True,
        )
        for number, gpu in enumerate(given, 1)
    ]


def serve(gpus: str, redis_url: str, logs: Path) -> None:
    """Keep one worker a GPU alive until a signal asks to stop; raises as `worker_specs` does."""
    if not chosen(gpus):
        raise UsageError(
            f"--gpus {gpus}: there is no GPU to serve; without --gpus one worker starts"
        )
    specs = worker_specs(gpus, None, redis_url, "gpu-worker")
    logs.mkdir(parents=True, exist_ok=True)
    supervisor = Supervisor(logs)
    with HeldSignals() as signals:
        supervisor.start(*specs)
        say(
            f"starting a worker on each of {len(specs)} GPUs; logs are in {logs}; Ctrl-C stops them"
        )
        try:
            while not signals.wait(supervisor.next_due_s()):
                for line in supervisor.tend():
                    say(line)
        finally:
            for line in supervisor.stop(signals):
                say(line)


def calibrate(gpu: str, runs: int, as_json: bool) -> NoReturn:
    """Turn into the process that measures a GPU; where there is none, it says so."""
    given = {GPU: chosen(gpu)[0]} if gpus_here() else {}
    options = ("--runs", str(runs), *(("--json",) if as_json else ()))
    become(python("worker.calibration", *options), inherited(**given))
