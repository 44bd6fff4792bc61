"""One job, from its message to its verdict: what each mode has done, and by which processes."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from contract.job import Fault, Progress
from contract.submission import Mode, Submission
from kernels.catalog import candidate_source
from kernels.problems import PROBLEMS
from worker.calls import Calls
from worker.comparing import NAMES, Comparing, Found, Side, alone
from worker.compilation import Compilation, Compiled
from worker.device import Device
from worker.findings import Host, compared_fields, fields_of, log_of, verdict_of
from worker.judge import Judge, Judgement, Machine
from worker.messages import Failed, FromJudge, Judged, Progressed, Stopped
from worker.plan import Plan, plan_of
from worker.profiling import LookedAt, Order, Profiled, audit, profile, profiled
from worker.runner_process import Interrupted, RunnerFailed, RunnerProcess
from worker.running_job import RunningJob
from worker.seeds import random_seed
from worker.spares import Spares

log = logging.getLogger("halfbyte.judge")
Last = TypeVar("Last", Judgement, Found, Compiled)


@dataclass(frozen=True, slots=True)
class Bench:
    """What a judge has to judge with, as its last calibration found it."""

    device: Device
    spares: Spares
    machine: Machine
    host: Host
    audit_ranked: bool
    """Whether a ranked job that passes is looked at under a profiler."""


class Judging:
    """One job on a bench."""

    def __init__(self, bench: Bench, job: RunningJob, send: Callable[[FromJudge], None]) -> None:
        """Do nothing yet; `send` takes what is told on the way."""
        self._bench = bench
        self._job = job
        self._submission = job.begin.submission
        self._road = bench.device.road(bench.machine.calibration)
        self._send = send

    def end(self) -> FromJudge:
        """Judge, clean up behind it, and return how it ended. A failure of ours is an end too."""
        try:
            self._tell(Progress(stage="starting"))
            if self._submission.mode is Mode.COMPILE:
                return self._compile()
            if self._submission.mode is Mode.COMPARE:
                return self._compare()
            return self._run(self._taken())
        except Interrupted:
            return Stopped()
        except RunnerFailed as error:
            log.exception("runner failed")
            return Failed(fault=Fault(reason="runner_failed", message=str(error)))
        except Exception as error:
            log.exception("judge failed")
            return Failed(fault=Fault(reason="judge_failed", message=f"{error!r}"))
        finally:
            self._bury()

    def _run(self, runner: RunnerProcess) -> FromJudge:
        submission, machine = self._submission, self._bench.machine
        if submission.mode is Mode.RANKED and machine.calibration is None:
            raise RuntimeError("a ranked job came to a worker that times nothing")
        if submission.mode is not Mode.TEST and machine.calibration is not None:
            self._bench.spares.settle(self._job.cancel_fd)
        source = _source(submission, self._job.begin.source)
        seed = random_seed()
        calls = self._calls(submission, runner)
        plan = plan_of(submission, random_seed())
        found = self._found(Judge(submission, plan, seed, calls, machine).judge(source))
        seen = self._looked_at(source, plan, found, calls.left_s)
        fields = fields_of(submission, plan, seed, found) | seen.fields
        verdict = verdict_of(self._bench.host, runner, found.failure, found.review, fields)
        return Judged(verdict=verdict, artifacts=seen.artifacts)

    def _looked_at(self, source: bytes, plan: Plan, found: Judgement, left_s: float) -> LookedAt:
        """Have what passed run once more under a profiler, where the mode asks for that.

        It has what is left of the job's time: a file that took twice that would end as our fault.
        """
        submission, ncu = self._submission, self._bench.device.ncu
        audited = submission.mode is Mode.RANKED and ncu and self._bench.audit_ranked
        if found.failure or not (audited or submission.mode is Mode.PROFILE):
            return LookedAt()
        self._tell(Progress(stage="profiling"))
        first = plan.first_timed if audited else 0
        cases = submission.cases[first:]
        order = Order(submission.problem, cases, source, random_seed(), ncu)
        try:
            seen = self._profiled(order, left_s)
        except RunnerFailed:
            if not audited:
                raise
            log.exception("no audit")  # the times stand without it
            return LookedAt()
        return audit(found.cases[first:], seen) if audited else profiled(seen)

    def _profiled(self, order: Order, left_s: float) -> Profiled:
        """Run the file under a profiler, in a process of its own."""
        runner = self._started(self._bench.spares.start_profiler(self._submission.limits))
        seen = profile(order, runner, left_s, self._job.cancel_fd)
        self._finish()
        return seen

    def _compare(self) -> FromJudge:
        """Have two candidates called in turns, each on a runner of its own."""
        begin, bench = self._job.begin, self._bench
        if bench.machine.calibration is None:
            raise RuntimeError("a comparison came to a worker that times nothing")
        runners = [self._taken() for _ in NAMES]
        bench.spares.settle(self._job.cancel_fd)
        seed = random_seed()
        files = (begin.source, begin.other_source)
        a, b = (
            Side(each, _source(each, file), self._calls(each, runner))
            for each, file, runner in zip(alone(self._submission), files, runners, strict=True)
        )
        found = self._found(Comparing((a, b), seed, bench.machine).compare())
        fields = compared_fields((a, b), seed, found, log_of(runners[1]))
        return Judged(verdict=verdict_of(bench.host, runners[0], found.failure, (), fields))

    def _compile(self) -> FromJudge:
        """Have a process of its own compile; one that interprets, as the spares do, cannot."""
        submission = self._submission
        runner = self._started(self._bench.spares.start_compiler(submission.limits))
        source = _source(submission, self._job.begin.source)
        steps = Compilation(submission, runner, self._job.cancel_fd).compile(source)
        found = self._found(steps)
        fields = {"summary": found.summary, "kernels": found.kernels, "emulated": True}
        verdict = verdict_of(self._bench.host, runner, found.failure, found.review, fields)
        return Judged(verdict=verdict, artifacts=dict(found.artifacts))

    def _calls(self, submission: Submission, runner: RunnerProcess) -> Calls:
        """Return how a candidate is called."""
        ground, cancel_fd = self._bench.device.ground, self._job.cancel_fd
        problem = PROBLEMS[submission.problem]
        return Calls(runner, ground, self._road, submission.limits, cancel_fd, problem)

    def _taken(self) -> RunnerProcess:
        """Return a warm runner."""
        runner = self._bench.spares.take(self._submission.limits, self._job.cancel_fd)
        self._job.add(runner)
        return runner

    def _started(self, runner: RunnerProcess) -> RunnerProcess:
        """Return a process of its own once it is ready."""
        self._job.add(runner)
        runner.wait_ready(self._job.cancel_fd)
        return runner

    def _found(self, steps: Iterator[Progress | Last]) -> Last:
        """Tell the progress, and return what comes last once all that ran is gone."""
        for step in steps:
            if not isinstance(step, Progress):
                self._finish()
                return step
            self._tell(step)
        raise AssertionError("what judges ends with what it found")

    def _finish(self) -> None:
        """End what ran; what it found counts unless a cancel came."""
        self._bury()
        self._job.check()

    def _bury(self) -> None:
        self._job.bury(self._bench.spares.pids())

    def _tell(self, progress: Progress) -> None:
        self._send(Progressed(progress=progress))


def _source(submission: Submission, file: bytes | None) -> bytes:
    """Return the file, or that of the ground truth where a kernel of ours is asked for."""
    return file or candidate_source(submission.kernel or "auto", submission.problem)
