"""Texts and files beside a verdict: kept compressed, as long as the job."""

import os

import pytest

from contract.artifacts import PIECE_BYTES
from contract.errors import LeaseLost, QueueUnavailable
from contract.scripts import FINISH
from contract.settings import QueueSettings
from tests.contract.examples import LOST, passed, submission, worker

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
    assert await redis.hstrlen(f"halfbyte:artifacts:{job.id}", "sm_90a-0-gemm.ptx:0") < 1_000


async def test_what_is_large_is_kept_in_pieces_and_charged_to_its_owner(queue, redis):
    """In one command it was sent again for ever where it took longer than an answer may."""
    large = {"profile.ncu-rep": os.urandom(3 * PIECE_BYTES + 1)}
    job = await queue.submit(submission(), "alice")
    lease = await queue.claim(worker(), 0)
    before = sum(map(int, await redis.hvals("halfbyte:kept:alice")))
    await queue.finish(lease, passed(), large)
    await queue.finish(lease, passed(), large)  # as after a lost answer
    sizes = [len(piece) for piece in await redis.hvals(f"halfbyte:artifacts:{job.id}")]
    assert len(sizes) == 4
    assert max(sizes) == PIECE_BYTES
    assert await queue.artifact(job.id, "profile.ncu-rep") == large["profile.ncu-rep"]
    charged = sum(map(int, await redis.hvals("halfbyte:kept:alice"))) - before
    assert sum(sizes) < charged < sum(sizes) + 5_000


async def test_nothing_is_left_of_what_an_earlier_attempt_kept(queue, redis, monkeypatch):
    job = await queue.submit(submission(), "alice")
    run = queue.store.run

    async def dies(script: str, *blobs: bytes, **arguments: object) -> object:
        if script == FINISH:
            raise QueueUnavailable("killed")
        return await run(script, *blobs, **arguments)

    with monkeypatch.context() as patch:
        patch.setattr(queue.store, "run", dies)
        lease = await queue.claim(worker(), 0)
        with pytest.raises(QueueUnavailable):
            await queue.finish(lease, passed(), {"a": os.urandom(2 * PIECE_BYTES), "b": b"b"})
    await queue.release(lease, LOST)
    await queue.finish(await queue.claim(worker(), 0), passed(), {"a": b"other"})
    assert await queue.artifact(job.id, "a") == b"other"
    assert await redis.hlen(f"halfbyte:artifacts:{job.id}") == 1


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
