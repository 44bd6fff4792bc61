"""The judge's process: `python -m worker.judge_main FD`, started by the worker and by nobody else.

One thread reads the worker's messages, so that a cancel ends the runner at once, whatever the main
thread computes. The main thread takes jobs one by one and keeps the spares warm in between. When
the worker ends, its socket ends, and everything here ends with it.
"""

import logging
import os
import queue
import socket
import sys
import threading
from collections.abc import Iterator
from functools import partial
from itertools import count

from contract.logs import log_to_stderr
from worker.device import find_device
from worker.environment import describe_machine, device_names
from worker.findings import Host
from worker.gpu_lock import GpuUnusable
from worker.judge import Machine
from worker.judging import Bench, Judging
from worker.messages import TO_JUDGE, Begin, Cancel, Configure, FromJudge, Ready, Unhealthy, line
from worker.process_tree import adopt_orphans, be_opaque, die_with_parent
from worker.runner_process import RunnerFailed
from worker.running_job import RunningJob
from worker.sandbox.choose import choose
from worker.sandbox.confinement import SandboxUnavailable
from worker.settings import WorkerSettings
from worker.spares import Spares

log = logging.getLogger("halfbyte.judge")


class JudgeProcess:
    """Jobs in, verdicts out, on one socket."""

    def __init__(
        self, settings: WorkerSettings, messages: Iterator[bytes], out: socket.socket
    ) -> None:
        """Choose and try out the sandbox; start no runner yet.

        Raises:
            SandboxUnavailable: none of the wanted level works here.
            GpuUnusable: another worker has the GPU, or it is none that we can serve.

        """
        self._out = out
        self._messages = messages
        self._device = find_device(settings)
        sandbox = choose(self._device.sandbox, self._device.environment)
        self._environment = describe_machine(sandbox.description)
        self._sandbox_level = sandbox.level
        self._spares = Spares(sandbox, self._device.environment, settings.limits, settings.spares)
        self._settings = settings
        self._waiting: queue.SimpleQueue[RunningJob] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._current: RunningJob | None = None

    def serve(self) -> None:
        """Judge until the worker is gone, or the device fails its proof: at the start, after a job.

        Raises:
            RunnerFailed: a runner did not come up; what is started next says more.

        """
        fault = self._device.prove() or self._calibration_fault()
        if fault is not None:
            self._send(Unhealthy(message=fault))
            return
        self._spares.fill()
        threading.Thread(target=self._listen, name="listen", daemon=True).start()
        self._send(
            Ready(
                environment=self._environment,
                serves=device_names(),
                sandbox_level=self._sandbox_level,
            )
        )
        for number in count(1):
            job = self._waiting.get()
            end = Judging(self._bench, job, self._send).end()
            fault = self._device.prove()
            if fault is not None:
                log.error("unhealthy: %s", fault)
                self._send(Unhealthy(message=fault))
            with self._lock:
                self._current = None
                job.close()
            self._send(end)
            if fault is not None:
                return
            often = self._settings.recalibrate_jobs
            if often and number % often == 0:
                self._calibrate()
            self._spares.fill()

    def _calibration_fault(self) -> str | None:
        """Calibrate; say what went wrong where that cannot be done."""
        try:
            self._calibrate()
        except RunnerFailed as error:
            return f"no calibration: {error}"
        return None

    def _calibrate(self) -> None:
        """Measure what the machine adds to a call, while no spare starts beside it."""
        start = partial(self._spares.start, self._settings.limits)
        found = self._device.calibrate(start)
        emulated = self._device.ground.emulated
        self._bench = Bench(
            self._device,
            self._spares,
            Machine(self._environment.gpu or "cpu", found, self._device.meter),
            Host(self._environment, self._sandbox_level, emulated, found),
            self._settings.audit_ranked,
        )

    def _listen(self) -> None:
        for text in self._messages:
            match TO_JUDGE.validate_json(text):
                case Begin() as begin:
                    job = RunningJob(begin)
                    with self._lock:
                        self._current = job
                    self._waiting.put(job)
                case Cancel():
                    with self._lock:
                        if self._current is not None:
                            self._current.cancel()
                case Configure():
                    raise ValueError("configured twice")
        os._exit(0)  # the worker is gone; our children follow us

    def _send(self, message: FromJudge) -> None:
        self._out.sendall(line(message))


def main() -> None:
    """Read the configuration and serve."""
    die_with_parent()
    be_opaque()
    adopt_orphans()
    log_to_stderr()
    worker = socket.socket(fileno=int(sys.argv[1]))
    worker.set_inheritable(False)
    messages = iter(worker.makefile("rb"))
    first = TO_JUDGE.validate_json(next(messages))
    assert isinstance(first, Configure)
    try:
        judge = JudgeProcess(first.settings, messages, worker)
    except (SandboxUnavailable, GpuUnusable) as error:
        worker.sendall(line(Unhealthy(message=str(error))))
        return
    judge.serve()


if __name__ == "__main__":
    main()
