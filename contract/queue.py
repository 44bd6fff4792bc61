"""The queue of jobs. Service and workers meet here and nowhere else.

Theory of operation

    submit -> queued -> claim -> running -> finish -> finished
                ^                  |
                +- release, reap --+-- release or reap with its attempts used up -> failed

    Cancel ends a queued or running job at once; reap fails a queued one that no worker serves. Each
    arrow is one Lua script, so it happens wholly or not at all, and is safe to repeat: redis-py
    repeats a command whose connection broke.

What each crash leaves behind
    worker            its lease: reap puts the job back in its place, or fails it after max_attempts
    stopped worker    awake again it holds a void token: every write of it is refused
    service           nothing: a submit is accepted wholly or not (clients repeat it by their key)
    Redis             what its AOF has. Leases ran on meanwhile, so nobody reaps for one lease
    a lost answer     the command is repeated: a claim finds its token, a submit its id, and the
                      others the state that they made

Waiting costs no connection: one subscription a process (bell.py) says when to look again, and all
look again by themselves now and then, so a lost message costs a moment and never a result.
"""

import asyncio
import contextlib
import re
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from hashlib import sha256
from typing import Self

from redis.asyncio import Redis

from contract import records, scripts
from contract.artifacts import KEEP, pieces_of, read_artifact
from contract.bell import Bell, rung
from contract.device import CPU, device_of, line_of
from contract.errors import (
    EvaluationError,
    InvalidSubmission,
    JobNotFound,
    LeaseLost,
    QueueUnavailable,
)
from contract.job import Fault, Job, JobEvent, JobState, JobSummary, Lease, Progress, WorkerInfo
from contract.order import CLASS_OFFSETS
from contract.ranking import found_in
from contract.refusals import refusal_from
from contract.settings import QueueSettings
from contract.store import Store, connect
from contract.submission import Mode, Submission
from contract.verdict import Verdict

LOOK_AGAIN_S = 1.0
"""Workers and streams look again this often, whatever the bell said."""
WAITERS_LOOK_AGAIN_S = 5.0
HEARTBEAT_S = 1.0
PAGE_SCANS = 5_000
"""Jobs looked at for one page of a list."""
_STREAM_ID = re.compile("[0-9]{1,19}-[0-9]{1,19}")
_LARGEST_PAGE = 200


class JobQueue:
    """Every transition of a job, one method each.

    Any method raises `QueueUnavailable` while Redis does not answer, where it says nothing else.
    """

    def __init__(self, redis: Redis, settings: QueueSettings) -> None:
        """Take over a client that leaves bytes as they are; `close` closes it."""
        self._settings = settings
        self.store = Store(redis, self._settings)
        """Runs scripts; keys, quotas, deliveries and figures share its connections."""
        self._bell = Bell(redis, f"{self._settings.prefix}:bell")

    @classmethod
    def connect(cls, settings: QueueSettings) -> Self:
        """Make a queue with a client of its own. Nothing is sent until a method is called."""
        return cls(connect(settings.redis_url), settings)

    async def close(self) -> None:
        """Close the connections."""
        await self._bell.close()
        await self.store.close()

    async def ping(self) -> None:
        """Ask Redis for a sign of life."""
        await self.store.ping()

    # The service's side

    async def submit(
        self,
        submission: Submission,
        owner: str,
        *,
        idempotency_key: str | None = None,
        digest: str | None = None,
        max_waiting: int | None = None,
    ) -> Job:
        """Accept a submission; the same key and digest from the same owner give the earlier job.

        `digest` stands for the request's body; that of the submission is taken if it is not given.

        Raises:
            QueueFull: as many jobs wait as may.
            QuotaExceeded: `max_waiting` jobs of this owner wait.
            OutsideWindow: it is ranked, and no board that it may enter takes jobs now.
            IdempotencyConflict: the key was used with another digest.

        """
        job_id = secrets.token_hex(16)
        spec = submission.model_dump_json()
        second = submission.other
        files = {"source": submission.source, "other": None if second is None else second.source}
        sent = {name: file for name, file in files.items() if file is not None}
        reply = await self.store.run(
            scripts.SUBMIT,
            spec,
            *sent.values(),
            id=job_id,
            files=list(sent),
            owner=owner,
            device=line_of(submission.device, submission.mode),
            offset=CLASS_OFFSETS[submission.mode],
            idempotency_key=idempotency_key,
            digest=digest or sha256(f"{spec}{submission.sha256}".encode()).hexdigest(),
            max_waiting=max_waiting,
            fields=records.fields_of(submission, job_id, owner),
        )
        if reply[0] != b"accepted":
            raise refusal_from(reply, submission.problem)
        return records.job_from(reply[1])

    async def get(self, job_id: str) -> Job:
        """Return a job with its verdict, error and position.

        Raises:
            JobNotFound: there is none, or it is past its retention.

        """
        reply = await self.store.run(scripts.GET, id=job_id)
        if reply is None:
            raise JobNotFound(job_id)
        record, verdict = reply
        return records.job_from(record, verdict)

    async def source(self, job_id: str, *, other: bool = False) -> bytes | None:
        """Return the source as it was sent, None for a built-in kernel or an unknown job.

        `other`: that of B, of a comparison.
        """
        file = "other" if other else "source"
        source: bytes | None = await self.store.run(scripts.SOURCE, id=job_id, file=file)
        return source

    async def artifact(self, job_id: str, name: str) -> bytes | None:
        """Return what a job's verdict names, a text in UTF-8; None where there is none."""
        return await read_artifact(self.store, job_id, name)

    async def list(
        self,
        *,
        state: JobState | None = None,
        mode: Mode | None = None,
        device: str | None = None,
        owner: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> tuple[Sequence[JobSummary], str | None]:
        """Return jobs, newest first, and the cursor of the next page, None at the end.

        `device` is what was asked for, in its one spelling.

        A page looks at `PAGE_SCANS` jobs at most, so a rare filter can give a short page with a
        cursor. Jobs submitted meanwhile do not move the pages.

        Raises:
            InvalidSubmission: `cursor` is none of ours.

        """
        if cursor is not None and not re.fullmatch("[0-9]{1,15}", cursor):
            raise InvalidSubmission("cursor", "must be the next_cursor of an earlier page")
        following, rows = await self.store.run(
            scripts.PAGE,
            owner=owner,
            state=state,
            mode=mode,
            device=device,
            limit=min(limit, _LARGEST_PAGE),
            before=cursor,
            scanned=PAGE_SCANS,
        )
        page = [records.summary_from(row) for row in rows]
        return page, following.decode() if following else None

    async def cancel(self, job_id: str) -> Job:
        """End a queued or running job as cancelled, at once; an ended one stays as it is.

        The worker of a running job is told, and none of its writes is accepted any more.

        Raises:
            JobNotFound: there is none.

        """
        await self.store.run(scripts.CANCEL, id=job_id)
        return await self.get(job_id)

    async def wait(self, job_id: str, timeout_s: float) -> Job:
        """Return the job once it has ended, or as it is after `timeout_s`.

        Raises:
            JobNotFound: there is none.

        """
        clock = asyncio.get_running_loop().time
        deadline = clock() + timeout_s
        with self._bell.listen(f"ended:{job_id}") as ended:
            while True:
                job = await self.get(job_id)
                left_s = deadline - clock()
                if job.state.ended or left_s <= 0:
                    return job
                await rung(ended, min(left_s, WAITERS_LOOK_AGAIN_S))

    async def events(self, job_id: str, after: str | None = None) -> AsyncIterator[JobEvent | None]:
        """Yield the events of a job after the one of id `after`, up to the one that ends it.

        Yields None about every second when nothing came, also while Redis is away. An `after` that
        is no id of ours means the beginning.

        Raises:
            JobNotFound: there is no such job, or no longer.

        """
        last = after if after and _STREAM_ID.fullmatch(after) else "0-0"
        with self._bell.listen(f"event:{job_id}") as news:
            while True:
                ended, events = await self._events_after(job_id, last)
                for event in events:
                    last = event.id
                    yield event
                if not events:
                    if ended:
                        return
                    if not await rung(news, HEARTBEAT_S):
                        yield None

    async def _events_after(self, job_id: str, last: str) -> tuple[bool, Sequence[JobEvent]]:
        try:
            reply = await self.store.run(scripts.EVENTS, id=job_id, after=last)
        except QueueUnavailable:
            return False, []
        if reply is None:
            raise JobNotFound(job_id)
        state, entries = reply
        return JobState(state.decode()).ended, [records.event_from(entry) for entry in entries]

    async def workers(self) -> Sequence[WorkerInfo]:
        """Return the workers that beat of late."""
        return [
            records.worker_from(info, beat) for info, beat in await self.store.run(scripts.WORKERS)
        ]

    async def depth(self) -> dict[str, int]:
        """Return how many jobs wait, by device; a device for which none waits is left out."""
        depth: Counter[str] = Counter()
        for line, waiting in await self.store.run(scripts.DEPTH):
            depth[device_of(line.decode())] += waiting
        return dict(depth)

    # The worker's side

    async def heartbeat(self, worker: WorkerInfo) -> bool:
        """Show a worker as alive for three beats; return whether it is asked to drain."""
        beat = scripts.HEARTBEAT, worker.model_dump_json()
        return bool(await self.store.run(*beat, worker=worker.id, serves=worker.lines))

    async def goodbye(self, worker_id: str) -> None:
        """Take a worker off the list."""
        await self.store.run(scripts.GOODBYE, worker=worker_id)

    async def claim(self, worker: WorkerInfo, wait_s: float) -> Lease | None:
        """Take the next job of the devices that a worker serves; None if none came in `wait_s`.

        A claim that is cancelled puts back what it may have taken.
        """
        clock = asyncio.get_running_loop().time
        deadline = clock() + wait_s
        with self._bell.listen(*(f"device:{device}" for device in worker.lines)) as queued:
            while True:
                lease = await self._claim(worker)
                left_s = deadline - clock()
                if lease is not None or left_s <= 0:
                    return lease
                await rung(queued, min(left_s, LOOK_AGAIN_S))

    async def _claim(self, worker: WorkerInfo) -> Lease | None:
        token = secrets.token_hex(16)
        who = {"worker": worker.id, "serves": worker.lines, "on_gpu": worker.device != CPU or None}
        claiming = asyncio.ensure_future(self.store.run(scripts.CLAIM, token=token, **who))
        try:
            reply = await asyncio.shield(claiming)
        except asyncio.CancelledError:
            with contextlib.suppress(EvaluationError):
                if reply := await claiming:
                    stopped = Fault(reason="worker_stopped", message="the worker stopped")
                    lease = records.lease_from(reply, worker.id, token)
                    await self.release(lease, stopped, count_attempt=False)
            raise
        return None if reply is None else records.lease_from(reply, worker.id, token)

    async def renew(self, lease: Lease) -> None:
        """Extend a lease to its full length from now.

        Raises:
            LeaseLost: the job was cancelled or given to somebody else.

        """
        await self._write(lease, scripts.RENEW)

    async def progress(self, lease: Lease, progress: Progress) -> None:
        """Say how far a running job is.

        Raises:
            LeaseLost: as `renew`.

        """
        await self._write(lease, scripts.PROGRESS, progress.model_dump_json())

    async def cancelled(self, lease: Lease) -> None:
        """Return once the job of a lease is cancelled or the lease is lost otherwise; else never.

        Also waits while Redis is away.
        """
        with self._bell.listen(f"lease:{lease.job.id}") as news:
            while True:
                try:
                    await self._write(lease, scripts.HOLDS)
                except LeaseLost:
                    return
                except QueueUnavailable:
                    pass
                await rung(news, WAITERS_LOOK_AGAIN_S)

    async def finish(
        self, lease: Lease, verdict: Verdict, artifacts: Mapping[str, bytes] | None = None
    ) -> None:
        """End a job with its verdict, and what it names. May be repeated like the rest.

        What it names goes first, in pieces: each is answered in time on a slow road too.

        Raises:
            LeaseLost: as `renew`; nothing was written that anybody is told of.

        """
        for number, (name, piece) in enumerate(pieces_of(artifacts or {})):
            await self._write(lease, KEEP, piece, piece=name, first=number == 0)
        await self._write(
            lease,
            scripts.FINISH,
            *records.written(verdict),
            outcome=verdict.outcome,
            ranked=found_in(lease.submission, verdict),
            artifacts=bool(artifacts),
        )

    async def release(self, lease: Lease, fault: Fault, *, count_attempt: bool = True) -> Job:
        """Put a job back in its old place; fail it with `fault` when its attempts are used up.

        A worker that drains does not count the attempt. May be repeated like `finish`.

        Raises:
            LeaseLost: as `renew`; nothing was written.

        """
        await self._write(lease, scripts.RELEASE, count_attempt=count_attempt, **dict(fault))
        return await self.get(lease.job.id)

    async def reap(self) -> Sequence[str]:
        """Put back or fail the jobs that nobody will finish, and return their ids.

        Everybody calls it every beat; when nobody has for half a lease, Redis was away, and nothing
        is reaped for one lease.
        """
        return [job_id.decode() for job_id in await self.store.run(scripts.REAP)]

    async def _write(
        self, lease: Lease, script: str, *blobs: str | bytes, **arguments: object
    ) -> None:
        how = await self.store.run(script, *blobs, id=lease.job.id, token=lease.token, **arguments)
        if how is not None:
            raise LeaseLost(cancelled=how == b"cancelled")
