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
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from contract.job import Fault, Progress
from contract.logs import log_to_stderr
from contract.submission import Mode
from kernels.catalog import candidate_source
from kernels.problems import PROBLEMS
from worker.calls import Calls
from worker.comparing import NAMES, Comparing, Found, Side, alone
from worker.compilation import Compilation, Compiled
from worker.device import find_device
from worker.environment import describe_machine, device_names
from worker.findings import Host, compared_fields, fields_of, log_of, verdict_of
from worker.gpu_lock import GpuTaken
from worker.judge import Judge, Judgement, Machine
from worker.messages import (
    TO_JUDGE,
    Begin,
    Cancel,
    Configure,
    Failed,
    FromJudge,
    Judged,
    Progressed,
    Ready,
    Stopped,
    Unhealthy,
    line,
)
from worker.plan import Plan, plan_of
from worker.process_tree import adopt_orphans, be_opaque, die_with_parent, kill_strays
from worker.profiling import LookedAt, Order, Profiled, audit, profile, profiled
from worker.runner_process import Interrupted, RunnerFailed, RunnerProcess
from worker.sandbox.choose import choose
from worker.sandbox.confinement import SandboxUnavailable
from worker.seeds import random_seed
from worker.settings import WorkerSettings
from worker.spares import Spares

log = logging.getLogger("halfbyte.judge")


@dataclass(slots=True)
class RunningJob:
    """A job from the moment it was read: a cancel finds it even before its runner."""

    begin: Begin
    cancel_fd: int
    runners: list[RunnerProcess] = field(default_factory=list)
    """Those that are alive: one, or the two of a comparison."""


class JudgeProcess:
    """Jobs in, verdicts out, on one socket."""

    def __init__(
        self, settings: WorkerSettings, messages: Iterator[bytes], out: socket.socket
    ) -> None:
        """Choose and try out the sandbox; start no runner yet.

        Raises:
            SandboxUnavailable: none of the wanted level works here.
            GpuTaken: another worker has the GPU.

        """
        self._out = out
        self._messages = messages
        self._device = find_device(settings)
        self._ground = self._device.ground
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
            end = self._judged(job)
            fault = self._device.prove()
            if fault is not None:
                log.error("unhealthy: %s", fault)
                self._send(Unhealthy(message=fault))
            with self._lock:
                self._current = None
                os.close(job.cancel_fd)
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
        self._machine = Machine(self._environment.gpu or "cpu", found, self._device.meter)
        self._host = Host(self._environment, self._sandbox_level, self._ground.emulated, found)

    def _listen(self) -> None:
        for text in self._messages:
            match TO_JUDGE.validate_json(text):
                case Begin() as begin:
                    job = RunningJob(begin, os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK))
                    with self._lock:
                        self._current = job
                    self._waiting.put(job)
                case Cancel():
                    self._cancel()
                case Configure():
                    raise ValueError("configured twice")
        os._exit(0)  # the worker is gone; our children follow us

    def _cancel(self) -> None:
        with self._lock:
            if self._current is not None:
                os.eventfd_write(self._current.cancel_fd, 1)
                for runner in self._current.runners:
                    runner.destroy()

    def _judged(self, job: RunningJob) -> FromJudge:
        """Judge one job and clean up behind it."""
        try:
            self._send(Progressed(progress=Progress(stage="starting")))
            if job.begin.submission.mode is Mode.COMPILE:
                return self._compile(job)
            if job.begin.submission.mode is Mode.COMPARE:
                return self._compare(job)
            return self._run(job, self._taken(job))
        except Interrupted:
            return Stopped()
        except RunnerFailed as error:
            log.exception("runner failed")
            return Failed(fault=Fault(reason="runner_failed", message=str(error)))
        except Exception as error:
            log.exception("judge failed")
            return Failed(fault=Fault(reason="judge_failed", message=f"{error!r}"))
        finally:
            self._bury(job)

    def _taken(self, job: RunningJob) -> RunnerProcess:
        """Return a warm runner for a job."""
        runner = self._spares.take(job.begin.submission.limits, job.cancel_fd)
        self._known(job, runner)
        return runner

    def _known(self, job: RunningJob, runner: RunnerProcess) -> None:
        """Let a cancel find a runner."""
        with self._lock:
            job.runners.append(runner)

    def _bury(self, job: RunningJob) -> None:
        """End a job's runners and what they left: a stray would hold their output pipes open."""
        with self._lock:
            runners, job.runners = job.runners, []
        for runner in runners:
            runner.destroy()
        kill_strays(self._spares.pids())
        for runner in runners:
            runner.close()

    def _run(self, job: RunningJob, runner: RunnerProcess) -> FromJudge:
        begin, cancel_fd, submission = job.begin, job.cancel_fd, job.begin.submission
        if submission.mode is Mode.RANKED and self._machine.calibration is None:
            raise RuntimeError("a ranked job came to a worker that times nothing")
        if submission.mode is not Mode.TEST and self._machine.calibration is not None:
            self._spares.settle(cancel_fd)
        source = begin.source or candidate_source(submission.kernel or "auto", submission.problem)
        seed = random_seed()
        road = self._device.road(self._machine.calibration)
        problem = PROBLEMS[submission.problem]
        calls = Calls(runner, self._ground, road, submission.limits, cancel_fd, problem)
        plan = plan_of(submission, random_seed())
        judge = Judge(submission, plan, seed, calls, self._machine)
        for step in judge.judge(source):
            if isinstance(step, Judgement):
                self._bury(job)
                if cancelled(cancel_fd):
                    raise Interrupted
                seen = self._looked_at(job, source, plan, step, calls.left_s)
                fields = fields_of(submission, plan, seed, step) | seen.fields
                verdict = verdict_of(self._host, runner, step.failure, step.review, fields)
                return Judged(verdict=verdict, artifacts=seen.artifacts)
            self._send(Progressed(progress=step))
        raise AssertionError("a judge always ends with a judgement")

    def _looked_at(
        self, job: RunningJob, source: bytes, plan: Plan, found: Judgement, left_s: float
    ) -> LookedAt:
        """Have what passed run once more under a profiler, where the mode asks for that.

        It has what is left of the job's time: a file that took twice that would end as our fault.
        """
        submission, ncu = job.begin.submission, self._device.ncu
        audited = submission.mode is Mode.RANKED and ncu and self._settings.audit_ranked
        if found.failure or not (audited or submission.mode is Mode.PROFILE):
            return LookedAt()
        self._send(Progressed(progress=Progress(stage="profiling")))
        first = plan.first_timed if audited else 0
        cases = submission.cases[first:]
        order = Order(submission.problem, cases, source, random_seed(), ncu)
        try:
            seen = self._profiled(job, order, left_s)
        except RunnerFailed:
            if not audited:
                raise
            log.exception("no audit")  # the times stand without it
            return LookedAt()
        return audit(found.cases[first:], seen) if audited else profiled(seen)

    def _profiled(self, job: RunningJob, order: Order, left_s: float) -> Profiled:
        """Run the file under a profiler, in a process of its own."""
        limits = job.begin.submission.limits
        runner = self._spares.start_profiler(limits)
        self._known(job, runner)
        runner.wait_ready(job.cancel_fd)
        left = limits.model_copy(update={"job_s": left_s})
        seen = profile(order, runner, left, job.cancel_fd)
        self._bury(job)
        if cancelled(job.cancel_fd):
            raise Interrupted
        return seen

    def _compare(self, job: RunningJob) -> FromJudge:
        """Have two candidates called in turns, each on a runner of its own."""
        begin, cancel_fd = job.begin, job.cancel_fd
        if self._machine.calibration is None:
            raise RuntimeError("a comparison came to a worker that times nothing")
        runners = [self._taken(job) for _ in NAMES]
        self._spares.settle(cancel_fd)
        road, seed = self._device.road(self._machine.calibration), random_seed()
        sides = []
        for each, file, runner in zip(
            alone(begin.submission), (begin.source, begin.other_source), runners, strict=True
        ):
            problem = PROBLEMS[each.problem]
            calls = Calls(runner, self._ground, road, each.limits, cancel_fd, problem)
            source = file or candidate_source(each.kernel or "auto", each.problem)
            sides.append(Side(each, source, calls))
        a, b = sides
        for step in Comparing((a, b), seed, self._machine).compare():
            if isinstance(step, Found):
                self._bury(job)
                if cancelled(cancel_fd):
                    raise Interrupted
                fields = compared_fields((a, b), seed, step, log_of(runners[1]))
                return Judged(verdict=verdict_of(self._host, runners[0], step.failure, (), fields))
            self._send(Progressed(progress=step))
        raise AssertionError("a comparison always ends with what was found")

    def _compile(self, job: RunningJob) -> FromJudge:
        """Have a process of its own compile; one that interprets, as the spares do, cannot."""
        submission = job.begin.submission
        runner = self._spares.start_compiler(submission.limits)
        self._known(job, runner)
        runner.wait_ready(job.cancel_fd)
        source = job.begin.source or candidate_source(
            submission.kernel or "auto", submission.problem
        )
        for step in Compilation(submission, runner, job.cancel_fd).compile(source):
            if isinstance(step, Compiled):
                self._bury(job)
                if cancelled(job.cancel_fd):
                    raise Interrupted
                fields = {"summary": step.summary, "kernels": step.kernels, "emulated": True}
                verdict = verdict_of(self._host, runner, step.failure, step.review, fields)
                return Judged(verdict=verdict, artifacts=dict(step.artifacts))
            self._send(Progressed(progress=step))
        raise AssertionError("a compilation always ends with what was found")

    def _send(self, message: FromJudge) -> None:
        self._out.sendall(line(message))


def cancelled(cancel_fd: int) -> bool:
    """Whether a cancel came, also one that ended the runner while we computed."""
    try:
        os.eventfd_read(cancel_fd)
    except BlockingIOError:
        return False
    return True


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
    except (SandboxUnavailable, GpuTaken) as error:
        sys.exit(f"the judge cannot start: {error}")
    judge.serve()


if __name__ == "__main__":
    main()
