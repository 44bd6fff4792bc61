"""From a request to a job in the queue: fill in what was left open, refuse what cannot run.

Nothing is stored before everything is checked: a bad request leaves no job behind.
"""

import hashlib
from collections.abc import Sequence

from contract.contest import Contest
from contract.device import CPU, GPU_ONLY, device_named
from contract.errors import InvalidSubmission
from contract.job import Job, WorkerInfo
from contract.limits import Limits
from contract.problem import Case, Problem
from contract.queue import JobQueue
from contract.quota import Quotas
from contract.repeats import repeated
from contract.retries import retry
from contract.submission import (
    Candidate,
    Mode,
    Submission,
    official_cases,
    problem_named,
    targets_named,
)
from service.access import Caller
from service.callback_address import AddressRefused, CallbackAddresses
from service.job_request import CasesRequest, safe_filename
from service.request_body import SentCandidate, SentJob
from service.settings import ServiceSettings
from service.source_checker import SourceChecker, grammar_of


class Admission:
    """Lets jobs into the queue."""

    def __init__(
        self, queue: JobQueue, settings: ServiceSettings, addresses: CallbackAddresses
    ) -> None:
        """Check requests with `settings` and put them into `queue`."""
        self._queue = queue
        self._addresses = addresses
        self._contest = Contest(queue.store)
        self._quotas = Quotas(queue.store, settings.quota)
        self._settings = settings
        self._sources = SourceChecker(settings.source_checks, settings.source_check_s)

    async def admit(self, sent: SentJob, caller: Caller, idempotency_key: str | None = None) -> Job:
        """Put the job into the queue, or return the one that the key already stands for.

        Raises:
            InvalidSubmission, QuotaExceeded, QueueFull, IntakeStopped, OutsideWindow,
                IdempotencyConflict, QueueUnavailable: it is not accepted.

        """
        digest = sent.request.digest(*(each.source for each in sent.candidates))
        if idempotency_key is not None:
            # What has changed since is no reason to refuse a job that is there.
            key = caller.owner, idempotency_key, digest
            if job := await repeated(self._queue.store, *key):
                return job
        await self._contest.check_open()
        for each in sent.candidates:
            if each.source is not None:
                self._settings.limits.check_source(each.source)
        workers = [each for each in await self._queue.workers() if each.serves]
        submission = self._resolve(sent, workers)
        if caller.limited:
            await self._quotas.take(caller.owner)
        await self._check(sent, submission, workers)
        return await self._queue.submit(
            submission,
            caller.owner,
            idempotency_key=idempotency_key,
            digest=digest,
            max_waiting=self._most_waiting(caller),
        )

    async def retry(self, job: Job, caller: Caller) -> Job:
        """Have a job that failed by a fault of ours judged again; it counts like one more job.

        Raises:
            NothingToRetry, QuotaExceeded, QueueFull, IntakeStopped, JobNotFound,
                QueueUnavailable: it is not.

        """
        await self._contest.check_open()
        if caller.limited:
            await self._quotas.take(caller.owner)
        return await retry(self._queue, job.id, self._most_waiting(caller))

    def _most_waiting(self, caller: Caller) -> int | None:
        return self._settings.quota.jobs_waiting if caller.limited else None

    def _resolve(self, sent: SentJob, workers: Sequence[WorkerInfo]) -> Submission:
        asked = sent.request
        problem = problem_named(asked.problem)
        first, *others = (candidate_of(each, problem) for each in sent.candidates)
        device = device_named(asked.device, (name for each in workers for name in each.serves))
        mode = asked.mode or default_mode(workers, device)
        if mode is Mode.COMPARE and not others:
            raise InvalidSubmission("mode", "two candidates are compared by POST /v1/comparisons")
        _refuse_what_cannot_run(mode, device, workers)
        return Submission(
            problem=problem.name,
            mode=mode,
            cases=self._cases_of(mode, problem, asked) or official_cases(problem, mode),
            kernel=first.kernel,
            source=first.source,
            filename=first.filename,
            device=device,
            targets=_targets_of(mode, asked.targets),
            other=others[0] if others else None,
            callback_url=asked.callback_url,
            limits=self._limits_of(sent),
        )

    def _limits_of(self, sent: SentJob) -> Limits:
        limits = self._settings.job
        if sent.job_s is None:
            return limits
        return limits.model_copy(update={"job_s": min(sent.job_s, limits.job_s)})

    def _cases_of(
        self, mode: Mode, problem: Problem, asked: CasesRequest
    ) -> tuple[Case, ...] | None:
        """Return the cases that were asked for; a ranked job has those of everybody."""
        if mode is Mode.RANKED and (given := asked.given_cases()):
            raise InvalidSubmission(
                given[0],
                "mode `ranked` runs the official cases under seeds that nobody knows; leave it out",
            )
        cases = asked.asked_cases(problem, self._settings.limits)
        if mode is Mode.COMPARE and cases and not any(any(case.m) for case in cases):
            raise InvalidSubmission(
                "m" if asked.cases is None else "cases", "no row in any case: nothing takes time"
            )
        return cases

    async def _check(
        self, sent: SentJob, submission: Submission, workers: Sequence[WorkerInfo]
    ) -> None:
        """Look at what takes a while to look at."""
        if submission.callback_url is not None:
            await self.check_address(submission.callback_url, "callback_url")
        for each in sent.candidates:
            if each.source is not None:
                grammar = grammar_of(workers, submission.device)
                await self._sources.check(each.source, grammar, f"{each.field}source")

    async def check_address(self, address: str, field: str) -> None:
        """Refuse an address that nothing may be posted to.

        Raises:
            InvalidSubmission: naming the field, and why.

        """
        try:
            await self._addresses.target(address)
        except AddressRefused as error:
            raise InvalidSubmission(field, str(error)) from None


def candidate_of(sent: SentCandidate, problem: Problem) -> Candidate:
    """Return what a request asks to run.

    Raises:
        InvalidSubmission: a kernel that is not there, or a file and a kernel at once.

    """
    kernel, source, filename = sent.asked.kernel, sent.source, sent.asked.filename
    if kernel is not None and source is not None:
        raise InvalidSubmission(f"{sent.field}kernel", "give a built-in kernel or a file, not both")
    if source is None and filename is not None:
        raise InvalidSubmission(f"{sent.field}filename", "only a file has a name")
    if source is not None:
        digest = hashlib.sha256(source).hexdigest()
        return Candidate(source=source, filename=safe_filename(filename), sha256=digest)
    kernel = "auto" if kernel is None else kernel
    if kernel not in problem.kernels:
        known = ", ".join(problem.kernels)
        raise InvalidSubmission(f"{sent.field}kernel", f"unknown kernel {kernel!r}; known: {known}")
    return Candidate(kernel=kernel)


def default_mode(workers: Sequence[WorkerInfo], device: str) -> Mode:
    """Return the mode of a job that names none: nothing is timed without a GPU."""
    timed = any(each.device != CPU and each.fit for each in workers)
    return Mode.BENCHMARK if timed and device != CPU else Mode.TEST


def _refuse_what_cannot_run(mode: Mode, device: str, workers: Sequence[WorkerInfo]) -> None:
    """Say so where a job would wait in vain: nothing that needs a GPU is emulated.

    Where no worker is alive one may come. Where some are and none of them has a GPU, or none may
    rank, that is how the service was set up.
    """
    if mode not in GPU_ONLY:
        return
    if device == CPU:
        raise InvalidSubmission("device", f"mode `{mode}` needs a GPU and is never emulated")
    if not workers or any(each.takes(mode) for each in workers):
        return
    if mode is Mode.RANKED and any(each.device != CPU for each in workers):
        levels = sorted({str(each.sandbox_level) for each in workers if each.device != CPU})
        raise InvalidSubmission(
            "mode",
            "mode `ranked` needs a worker with a tight sandbox: level 2, or level 1 where its "
            f"operator allows it; the GPU workers here have level {', '.join(levels)}",
        )
    raise InvalidSubmission(
        "mode",
        f"mode `{mode}` needs a GPU and is never emulated; no worker here has one "
        "(mode `test` needs none)",
    )


def _targets_of(mode: Mode, asked: Sequence[str] | None) -> tuple[str, ...]:
    if mode is Mode.COMPILE:
        return targets_named(asked)
    if asked is not None:
        raise InvalidSubmission("targets", "only mode `compile` has targets")
    return ()
