"""Texts and files beside a verdict: kept compressed, as long as the job."""

import pytest

from contract.errors import LeaseLost
from contract.settings import QueueSettings
from tests.contract.examples import passed, submission, worker

TEXTS = {
    "sm_90a-0-gemm.ptx": ("ü" * 100_000).encode(),
    "sm_90a-0-gemm.sass": b"",
    "profile.ncu-rep": bytes(range(256)),
}


async def test_texts_come_back_as_they_were_and_take_less_room(queue, redis):
    job = await queue.submit(submission(), "alice")
    await queue.finish(await queue.claim(worker(), 0), passed(), TEXTS)
    for name, text in TEXTS.items():
        assert await queue.artifact(job.id, name) == text
    assert await redis.hstrlen(f"halfbyte:artifacts:{job.id}", "sm_90a-0-gemm.ptx") < 1_000


async def test_texts_go_when_the_job_goes(queue, redis):
    job = await queue.submit(submission(), "alice")
    await queue.finish(await queue.claim(worker(), 0), passed(), TEXTS)
    ttl_ms = await redis.pttl(f"halfbyte:artifacts:{job.id}")
    assert 0 < ttl_ms <= QueueSettings().retention_s * 1000


async def test_there_is_no_text_of_another_name_or_job(queue):
    job = await queue.submit(submission(), "alice")
    await queue.finish(await queue.claim(worker(), 0), passed())
    assert await queue.artifact(job.id, "sm_90a-0-gemm.ptx") is None
    assert await queue.artifact("0" * 32, "sm_90a-0-gemm.ptx") is None


async def test_a_worker_that_lost_its_lease_writes_no_text(queue):
    job = await queue.submit(submission(), "alice")
    lease = await queue.claim(worker(), 0)
    await queue.cancel(job.id)
    with pytest.raises(LeaseLost):
        await queue.finish(lease, passed(), TEXTS)
    assert await queue.artifact(job.id, "sm_90a-0-gemm.ptx") is None
