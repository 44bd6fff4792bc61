"""The feed of ranked verdicts: numbered without a gap, resumable, and posted where it is wanted."""

import asyncio

import pytest

from contract.deliveries import Deliveries, Due
from contract.errors import InvalidSubmission, JobNotFound
from contract.queue import JobQueue
from contract.ranked_feed import RankedFeed
from contract.results import Results
from contract.submission import Mode
from tests.contract.examples import passed, submission
from tests.contract.ranked import GPU_WORKER, PROBLEM, RANKED, ranked, timed

URL = "https://board.example/hook"


@pytest.fixture
def feed(queue: JobQueue) -> RankedFeed:
    return RankedFeed(queue.store)


async def test_every_ranked_verdict_is_in_it_with_its_score_and_whether_it_counts(queue, feed):
    good = await ranked(queue, "ann", 1 / 3)
    bad = await ranked(queue, "bob", timed(2.0).model_copy(update={"sandbox_level": 0}))
    await queue.submit(submission(), "ann")  # not ranked
    await queue.finish(await queue.claim(GPU_WORKER, 0), passed())
    first, second = await feed.after(0, 10)
    assert (first.number, first.type, first.job, first.owner) == (1, "verdict", good.id, "ann")
    assert (first.problem, first.device, first.outcome) == (PROBLEM, "H200", "passed")
    assert (first.geomean_us, first.counts, first.why_not) == (1 / 3, True, None)
    assert (second.job, second.counts) == (bad.id, False)
    assert second.why_not == "it ran outside of a sandbox"
    ended = await queue.get(good.id)
    assert (first.job_number, first.created_at, first.at) == (
        ended.number,
        ended.created_at,
        ended.finished_at,
    )


async def test_decisions_are_in_it(queue, feed):
    job = await ranked(queue, "ann", 10.0)
    results = Results(queue.store)
    for decide in (results.disqualify, results.disqualify, results.reinstate, results.delete):
        await decide(job.id, "a reason", "root")
    decisions = await feed.after(1, 10)
    assert [(each.number, each.type, each.counts) for each in decisions] == [
        (2, "disqualified", False),
        (3, "reinstated", True),
        (4, "deleted", False),
    ]
    assert {(each.job, each.owner, each.reason, each.by) for each in decisions} == {
        (job.id, "ann", "a reason", "root")
    }
    assert {(each.job_number, each.created_at, each.geomean_us) for each in decisions} == {
        (job.number, job.created_at, 10.0)
    }


async def test_a_reader_that_resumes_misses_nothing_and_sees_nothing_twice(queue, feed):
    jobs = [await queue.submit(RANKED, f"owner{index % 3}") for index in range(30)]
    leases = [await queue.claim(GPU_WORKER, 0) for _ in jobs]
    seen = []

    async def read() -> None:
        last = 0
        while len(seen) < len(jobs):
            for entry in await feed.after(last, 4):
                seen.append(entry)
                last = entry.number

    async with asyncio.timeout(20):
        await asyncio.gather(read(), *(queue.finish(lease, timed(1.0)) for lease in leases))
    assert [entry.number for entry in seen] == list(range(1, 31))
    assert sorted(entry.job for entry in seen) == sorted(job.id for job in jobs)


async def test_a_reader_is_told_of_what_is_no_longer_kept(queue, feed, redis):
    for score in (3.0, 2.0, 1.0):
        await ranked(queue, "ann", score)
    await redis.xtrim("halfbyte:ranked", maxlen=1, approximate=False)
    for number in (0, 1):
        with pytest.raises(InvalidSubmission, match="up to 2 are no longer kept") as error:
            await feed.after(number, 10)
        assert error.value.extra == {"oldest": 3, "newest": 3}
    assert [entry.number for entry in await feed.after(2, 10)] == [3]
    with pytest.raises(JobNotFound):
        await feed.entry(2)


async def test_a_reader_that_is_ahead_is_told_so(queue, feed):
    assert await feed.after(0, 10) == []
    await ranked(queue, "ann", 1.0)
    assert await feed.after(1, 10) == []
    with pytest.raises(InvalidSubmission, match="the newest entry is 1") as error:
        await feed.after(2, 10)
    assert error.value.extra == {"oldest": 1, "newest": 1}


async def test_what_goes_since_an_owner_has_too_many_is_told(queue_settings):
    queue = JobQueue.connect(queue_settings.model_copy(update={"results_kept": 2}))
    fast, slow, slowest = [await ranked(queue, "ann", score) for score in (1.0, 2.0, 3.0)]
    between = await ranked(queue, "ann", 1.5)
    told = [
        (entry.type, entry.job, entry.counts) for entry in await RankedFeed(queue.store).after(0, 9)
    ]
    assert told == [
        ("verdict", fast.id, True),
        ("verdict", slow.id, True),
        ("verdict", slowest.id, True),
        ("deleted", slowest.id, False),
        ("verdict", between.id, True),
        ("deleted", slow.id, False),
    ]
    gone = await RankedFeed(queue.store).entry(6)
    assert (gone.geomean_us, gone.job_number, gone.created_at) == (
        2.0,
        slow.number,
        slow.created_at,
    )
    assert (gone.reason, gone.by) == ("of one owner 2 results are kept", None)
    await queue.close()


async def test_entries_are_due_at_the_webhook_from_its_registration_on(queue, feed):
    deliveries = Deliveries(queue.store)
    await ranked(queue, "ann", 3.0)
    hook = await feed.set_webhook(URL, "root")
    assert (hook.url, hook.name) == (URL, "root")
    assert await feed.webhook() == hook
    job = await ranked(queue, "ann", 2.0)
    await Results(queue.store).disqualify(job.id, "a reason", "root")
    due = await deliveries.take("posts", 9, 30, 3)
    assert due == [Due(f"ranked-{n}", URL, 1, f"ranked-{n}", "") for n in (2, 3)]
    assert [due[0].entry, due[1].entry] == [2, 3]
    assert (await feed.entry(2)).job == job.id


async def test_nothing_is_posted_once_the_webhook_is_gone(queue, feed, redis):
    await feed.set_webhook(URL, "root")
    await ranked(queue, "ann", 3.0)
    assert await feed.unset_webhook()
    assert not await feed.unset_webhook()
    assert await feed.webhook() is None
    assert await Deliveries(queue.store).take("posts", 9, 30, 3) == []
    await ranked(queue, "ann", 2.0)
    assert await redis.exists("halfbyte:posts") == 0


async def test_a_jobs_own_callback_goes_its_own_way(queue, feed):
    await feed.set_webhook(URL, "root")
    other = "https://ann.example/"
    sent = RANKED.model_copy(update={"callback_url": other})
    assert sent.mode is Mode.RANKED
    job = await queue.submit(sent, "ann")
    await queue.finish(await queue.claim(GPU_WORKER, 0), timed(1.0))
    deliveries = Deliveries(queue.store)
    (its_own,) = await deliveries.take("callbacks", 9, 30, 3)
    assert its_own == Due(job.id, other, 1, job.id, "ann")
    assert its_own.entry is None
    assert await deliveries.take("posts", 9, 30, 3) == [Due("ranked-1", URL, 1, "ranked-1", "")]
