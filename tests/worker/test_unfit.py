"""A worker whose judge does not come up is on the list with the reason, and tries ever less often.

Queue and loop are real; the judge is scripted, and pauses are noted instead of waited for.
"""

import asyncio
import os

import pytest

from contract.job import WorkerInfo, WorkerState
from contract.queue import JobQueue
from contract.settings import QueueSettings
from tests.worker.gpu_stand_in import describe
from worker.judge_client import JudgeClient, JudgeLost
from worker.loop import HEAL_S, Worker
from worker.messages import Configure, Ready, line
from worker.settings import WorkerSettings

INFO = WorkerInfo(id="w-1", pid=1, host="here", python="3.11", gpu="GPU-1")


class ScriptedJudge(JudgeClient):
    """Does not come up for some times, and then does."""

    def __init__(self, lost: int) -> None:
        super().__init__(WorkerSettings(), {})
        self._lost = lost
        self._up = False

    async def start(self) -> Ready:
        if self._lost:
            self._lost -= 1
            raise JudgeLost("GPU-1 is in use by beta")
        self._up = True
        return Ready(environment=describe("none"), serves=("H200", "any"), sandbox_level=2)

    @property
    def alive(self) -> bool:
        return self._up


class NotedWorker(Worker):
    """Notes its pauses, and what it says of itself at each; stops once its judge is up."""

    def __init__(self, queue: JobQueue, lost: int, queue_settings: QueueSettings) -> None:
        super().__init__(queue, ScriptedJudge(lost), INFO, WorkerSettings(), queue_settings)
        self.pauses_s: list[float] = []
        self.said: set[tuple[WorkerState, str | None]] = set()

    async def _pause(self, delay_s: float) -> None:
        self.pauses_s.append(delay_s)
        self.said.add((self._info.state, self._info.reason))

    def _describe(self, state: WorkerState, job: str | None = None) -> None:
        super()._describe(state, job)
        if state is WorkerState.IDLE:
            self.first_idle = self._info
            self.stop()


@pytest.mark.parametrize("lost", [0, 1, 3, 8])
async def test_pauses_between_starts_get_longer_up_to_a_minute(
    queue: JobQueue, queue_settings: QueueSettings, lost: int
) -> None:
    worker = NotedWorker(queue, lost, queue_settings)
    await worker.run()
    between = [pause_s for pause_s in worker.pauses_s if pause_s in HEAL_S]
    assert between == [*HEAL_S, *[HEAL_S[-1]] * lost][:lost]
    assert worker.said <= {(WorkerState.UNHEALTHY, "GPU-1 is in use by beta")}
    fit = worker.first_idle
    assert (fit.device, fit.serves, fit.sandbox_level) == ("H200", ("H200", "any"), 2)
    assert (fit.gpu, fit.reason, fit.ranked) == ("NVIDIA H200", None, True)
    assert await queue.workers() == []


async def test_a_name_that_is_no_text_is_cleaned(
    queue: JobQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NAME", "GPU"):
        monkeypatch.setenv(f"HALFBYTE_WORKER_{name}", os.fsdecode(b"a\xff\x1b[2J"))
    settings = WorkerSettings()
    assert Configure.model_validate_json(line(Configure(settings=settings))).settings == settings
    await queue.heartbeat(INFO.model_copy(update={"id": settings.name, "gpu": settings.gpu}))
    assert [(each.id, each.gpu) for each in await queue.workers()] == [("a??[2J", "a??[2J")]


async def test_a_beat_that_is_under_way_does_not_come_behind_the_goodbye(
    queue: JobQueue, queue_settings: QueueSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once, beats = queue.heartbeat, []

    async def arriving(info: WorkerInfo) -> bool:
        await asyncio.sleep(0.05)
        return await at_once(info)

    async def sent(info: WorkerInfo) -> bool:
        beats.append(asyncio.create_task(arriving(info)))
        return await asyncio.shield(beats[-1])  # what was sent arrives, whoever gives up waiting

    monkeypatch.setattr(queue, "heartbeat", sent)
    await NotedWorker(queue, 3, queue_settings).run()
    assert beats
    await asyncio.gather(*beats)
    assert await queue.workers() == []
