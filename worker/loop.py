"""Claim, judge, report: what a worker does all day.

One attempt is four things at once: the judge judges, the lease is renewed, a cancel is listened
for, and a drain runs out of patience. The first to end decides. Whatever it is, the job is then
written once, or not at all where the lease is no longer ours.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from enum import Enum
from typing import Final, TypeVar

from contract.device import CPU
from contract.errors import LeaseLost, QueueUnavailable
from contract.job import Fault, Lease, Progress, WorkerInfo, WorkerState
from contract.queue import JobQueue
from contract.settings import QueueSettings
from worker.judge_client import JudgeClient, JudgeLost
from worker.messages import Failed, Judged, Progressed, Ready, Stopped, Unhealthy
from worker.settings import WorkerSettings

STOP_S: Final = 0.7
"""A judge that has not stopped a job by then is killed: a cancel takes a second at most."""
HEAL_S: Final = (5.0, 10.0, 20.0, 40.0, 60.0)
"""From when no job can be taken to the next start of a judge, and from each to the one after it."""
BACK_OFF_S: Final = (0.1, 0.2, 0.5, 1.0, 2.0)

log = logging.getLogger("halfbyte.worker")
T = TypeVar("T")


class Abandoned(Enum):
    """Why a job is not judged to its end."""

    LOST = "cancelled, expired or taken over"
    DRAINED = "the worker is shut down"


class Worker:
    """One device: its judge, its place in the queue."""

    def __init__(
        self,
        queue: JobQueue,
        judge: JudgeClient,
        info: WorkerInfo,
        settings: WorkerSettings,
        queue_settings: QueueSettings,
    ) -> None:
        """Own the judge, which `run` starts."""
        self._queue = queue
        self._judge = judge
        self._info = info
        self._settings = settings
        self._beat_s = queue_settings.beat_s
        self._stopping = asyncio.Event()
        self._unfit: str | None = None
        """Why no job can be taken; None while one can."""
        self._unfit_starts = 0
        self._described = asyncio.Event()
        """The first judge is up, or has said why it is not."""
        self._beating = asyncio.Lock()

    def stop(self) -> None:
        """Take no further job, and give the running one its grace."""
        if not self._stopping.is_set():
            log.info("stopping", extra={"worker": self._info.id})
        self._stopping.set()
        self._describe(state=WorkerState.DRAINING)

    async def run(self) -> None:
        """Work until stopped."""
        heart = asyncio.create_task(self._beat())
        try:
            await self._work()
        finally:
            async with self._beating:  # a beat that is cut off may reach Redis after the goodbye
                heart.cancel()
            with suppress(asyncio.CancelledError):
                await heart
            await self._judge.close()
            with suppress(QueueUnavailable):
                await self._queue.goodbye(self._info.id)
            log.info("stopped", extra={"worker": self._info.id})

    async def _work(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            try:
                if not self._judge.alive:
                    await self._restart()
                    continue
                lease = await self._unless_stopped(self._queue.claim(self._info, wait_s=1.0))
            except (QueueUnavailable, JudgeLost) as error:
                log.warning("waiting: %s", error)
                await self._pause(BACK_OFF_S[min(failures, len(BACK_OFF_S) - 1)])
                failures += 1
                continue
            failures = 0
            if lease is not None:
                await self._attempt(lease)

    async def _restart(self) -> None:
        """Start a judge; a device that cannot be used is left alone for longer each time."""
        if self._unfit is not None:
            await self._pause(HEAL_S[min(self._unfit_starts, len(HEAL_S) - 1)])
            self._unfit_starts += 1
        try:
            ready = await self._unless_stopped(self._judge.start())
        except JudgeLost as error:
            self._unfit = str(error)
            self._describe(WorkerState.UNHEALTHY)
            raise
        if ready is not None:
            self._unfit, self._unfit_starts = None, 0
            self._info = introduced(self._info, ready, self._settings)
            self._describe(WorkerState.IDLE)
            known = self._info.model_dump(include={"device", "sandbox_level"})
            log.info("ready", extra={"worker": self._info.id, **known})

    async def _unless_stopped(self, work: Coroutine[object, object, T]) -> T | None:
        """Return what a coroutine returns; cancel it, and return None, once we are to stop."""
        working = asyncio.create_task(work)
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
            return await working if working.done() else None
        finally:
            working.cancel()
            stopping.cancel()
            await asyncio.gather(working, stopping, return_exceptions=True)

    async def _beat(self) -> None:
        await self._described.wait()
        while True:
            try:
                async with self._beating:
                    if await self._queue.heartbeat(self._info):
                        self.stop()
                await self._queue.reap()
            except QueueUnavailable as error:
                log.warning("no heartbeat: %s", error)
            except Exception:
                log.exception("no heartbeat")  # the next one may succeed; the worker goes on
            await asyncio.sleep(self._beat_s)

    async def _pause(self, delay_s: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), delay_s)

    def _describe(self, state: WorkerState, job: str | None = None) -> None:
        if self._stopping.is_set():
            state = WorkerState.DRAINING
        elif self._unfit is not None:
            state = WorkerState.UNHEALTHY
        update = {"state": state, "job": job, "reason": self._unfit}
        self._info = self._info.model_copy(update=update)
        self._described.set()

    async def _attempt(self, lease: Lease) -> None:
        """See one attempt through."""
        fields = {"job": lease.job.id, "attempt": lease.attempt}
        log.info("claimed", extra=fields)
        self._describe(WorkerState.BUSY, lease.job.id)
        judging = asyncio.create_task(self._judged(lease))
        watching = [
            asyncio.create_task(watch)
            for watch in (self._renewing(lease), self._cancelled(lease), self._drained())
        ]
        try:
            done, _ = await asyncio.wait([judging, *watching], return_when=asyncio.FIRST_COMPLETED)
            if judging in done:
                await self._report(lease, judging.result())
            else:
                abandoned = next(task.result() for task in watching if task in done)
                await self._abandon(lease, judging, abandoned)
        except LeaseLost as lost:
            log.warning("lease lost: %s", lost, extra=fields)
        finally:
            for task in (judging, *watching):
                task.cancel()
            await asyncio.gather(judging, *watching, return_exceptions=True)
            self._describe(WorkerState.IDLE)
            log.info("done", extra=fields)

    async def _judged(self, lease: Lease) -> Judged | Failed | Stopped:
        """Return the end of the judging; every fault of the judge is a `Failed`."""
        limit_s = 2 * lease.submission.limits.job_s + self._settings.outer_margin_s
        unsent: deque[Progress] = deque()
        try:
            async with asyncio.timeout(limit_s):
                source = lease.submission.source or b""
                async for message in self._judge.judge(lease.submission, source):
                    if isinstance(message, Progressed):
                        unsent.append(message.progress)
                        await self._send_progress(lease, unsent)
                    elif isinstance(message, Unhealthy):
                        log.error("device unhealthy: %s", message.message)
                        self._unfit = message.message
                    elif isinstance(message, Judged | Failed | Stopped):
                        if self._unfit is not None:
                            await self._judge.close()  # it ends anyway; no job may reach it
                        return message
            raise JudgeLost("the judge ended in the middle of a job")
        except TimeoutError:
            await self._judge.close()
            words = f"judging took longer than {limit_s:g} s and was given up"
            return Failed(fault=Fault(reason="judge_overran", message=words))
        except JudgeLost as error:
            await self._judge.close()
            return Failed(fault=Fault(reason="judge_failed", message=str(error)))

    async def _send_progress(self, lease: Lease, unsent: deque[Progress]) -> None:
        """Write what is unsent, and keep it where Redis is away."""
        with suppress(QueueUnavailable, LeaseLost):
            while unsent:
                await self._queue.progress(lease, unsent[0])
                unsent.popleft()

    async def _renewing(self, lease: Lease) -> Abandoned:
        while True:
            await asyncio.sleep(self._beat_s)
            try:
                await self._queue.renew(lease)
            except LeaseLost:
                return Abandoned.LOST
            except QueueUnavailable as error:
                log.warning("not renewed: %s", error, extra={"job": lease.job.id})

    async def _cancelled(self, lease: Lease) -> Abandoned:
        await self._queue.cancelled(lease)
        return Abandoned.LOST

    async def _drained(self) -> Abandoned:
        await self._stopping.wait()
        await asyncio.sleep(self._settings.grace_s)
        return Abandoned.DRAINED

    async def _report(self, lease: Lease, end: Judged | Failed | Stopped) -> None:
        match end:
            case Judged(verdict=verdict, artifacts=artifacts):
                await persist(lambda: self._queue.finish(lease, verdict, artifacts))
            case Failed(fault=fault):
                await persist(lambda: self._queue.release(lease, fault))
            case Stopped():
                raise AssertionError("the judge stopped a job that nobody cancelled")

    async def _abandon(
        self, lease: Lease, judging: asyncio.Task[object], abandoned: Abandoned
    ) -> None:
        """Stop the judging, at once and for certain, and say so where the lease still stands."""
        asked = asyncio.create_task(self._judge.cancel())
        await asyncio.wait([judging], timeout=STOP_S)
        if not judging.done():
            await self._judge.close()
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        if abandoned is Abandoned.DRAINED:
            fault = Fault(reason="worker_drained", message=abandoned.value)
            await persist(lambda: self._queue.release(lease, fault, count_attempt=False))


def introduced(info: WorkerInfo, ready: Ready, settings: WorkerSettings) -> WorkerInfo:
    """Return a worker with what its judge says of the machine."""
    facts = {
        "device": ready.environment.device,
        "serves": ready.serves,
        "gpu": ready.environment.gpu,
        "sandbox_level": ready.sandbox_level,
        "ranked": may_rank(ready, settings),
    }
    return info.model_copy(update=facts)


def may_rank(ready: Ready, settings: WorkerSettings) -> bool:
    """Whether times of this worker may stand on a leaderboard."""
    return ready.environment.device != CPU and ready.sandbox_level >= settings.ranked_level


async def persist(write: Callable[[], Awaitable[object]]) -> None:
    """Repeat a write until Redis has taken it.

    Raises:
        LeaseLost: it is not ours to write any more.

    """
    attempt = 0
    while True:
        try:
            await write()
            return
        except QueueUnavailable as error:
            log.warning("not written: %s", error)
            await asyncio.sleep(BACK_OFF_S[min(attempt, len(BACK_OFF_S) - 1)])
            attempt += 1
