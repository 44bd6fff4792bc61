"""When a leaderboard takes ranked jobs: what is sent decides, and not when it is judged."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from contract.contest import BoardWindow, Contest, moment
from contract.errors import OutsideWindow
from contract.job import Job
from contract.leaderboard import Leaderboards
from contract.queue import JobQueue
from contract.ranked_feed import RankedFeed
from contract.submission import Mode
from tests.contract.examples import submission
from tests.contract.ranked import GPU_WORKER, PROBLEM, RANKED, ranked, timed

MS = timedelta(milliseconds=1)
HOUR = timedelta(hours=1)
ON_H200 = RANKED.model_copy(update={"device": "H200"})
B200_WORKER = GPU_WORKER.model_copy(
    update={"id": "b200", "device": "B200", "serves": ("B200", "sm_100", "any")}
)


@pytest.fixture
def contest(queue: JobQueue) -> Contest:
    return Contest(queue.store)


def window(
    opens_at: datetime | None = None, closes_at: datetime | None = None, device: str = "H200"
) -> BoardWindow:
    return BoardWindow(problem=PROBLEM, device=device, opens_at=opens_at, closes_at=closes_at)


async def owners(queue: JobQueue) -> list[str]:
    page = await Leaderboards(queue.store).page(PROBLEM, "H200")
    return [entry.owner for entry in page.entries]


async def test_a_window_is_kept_to_the_millisecond_changed_and_unset(contest):
    at = datetime(2026, 12, 1, 12, 0, 0, 123_999, UTC)
    kept = await contest.set_window(window(None, at))
    assert kept == window(None, at.replace(microsecond=123_000))
    longer = await contest.set_window(window(at, at + HOUR))
    other = await contest.set_window(window(at, None, "B200"))
    assert await contest.windows() == [other, longer]
    assert await contest.unset_window(PROBLEM, "H200")
    assert not await contest.unset_window(PROBLEM, "H200")
    assert await contest.windows() == [other]


@pytest.mark.parametrize(
    ("opens", "closes", "counts"),
    [
        (timedelta(0), None, True),
        (MS, None, False),
        (None, MS, True),
        (None, timedelta(0), False),
        (timedelta(0), MS, True),
        (-HOUR, -MS, False),
    ],
)
async def test_a_verdict_counts_from_the_opening_on_and_before_the_deadline(
    queue, contest, opens, closes, counts
):
    job = await queue.submit(RANKED, "ann")
    bounds = (None if each is None else job.created_at + each for each in (opens, closes))
    await contest.set_window(window(*bounds))
    lease = await queue.claim(GPU_WORKER, 0)
    await queue.finish(lease, timed(10.0))
    assert await owners(queue) == (["ann"] if counts else [])
    entry = await RankedFeed(queue.store).entry(1)
    why_not = None if counts else "it was sent outside of the window of the board"
    assert (entry.counts, entry.why_not, entry.geomean_us) == (counts, why_not, 10.0)
    assert (await queue.get(job.id)).why_not == why_not


async def test_jobs_are_taken_up_to_the_deadline_and_those_that_were_count_after_it(queue, contest):
    closes_at = (await contest.set_window(window(None, datetime.now(UTC) + 50 * MS))).closes_at
    sent: list[Job] = []

    async def send_until(end_s: float) -> None:
        while time.time() < end_s:
            sent.append(await queue.submit(ON_H200, f"owner{len(sent)}"))

    with pytest.raises(OutsideWindow) as refused:
        await send_until(closes_at.timestamp() + 5)
    assert sent
    assert all(job.created_at < closes_at for job in sent)
    assert datetime.now(UTC) >= closes_at
    assert str(refused.value).startswith(
        f"the leaderboard of {PROBLEM} takes ranked jobs on H200 until {moment(closes_at)}; "
        "now it is 20"
    )
    (told,) = refused.value.windows
    assert (told["problem"], told["device"], told["opens_at"]) == (PROBLEM, "H200", None)
    while lease := await queue.claim(GPU_WORKER, 0):
        await queue.finish(lease, timed(10.0))
    assert await owners(queue) == [job.owner for job in sent]


async def test_before_the_opening_ranked_jobs_are_refused_and_others_are_not(queue, contest, redis):
    now = datetime.now(UTC)
    await contest.set_window(window(now + HOUR, now + 2 * HOUR))
    before = sorted(await redis.keys())
    with pytest.raises(OutsideWindow, match=f"from {moment(now + HOUR)[:19]}.* until "):
        await queue.submit(ON_H200, "ann")
    assert sorted(await redis.keys()) == before
    for mode in Mode:
        if mode is not Mode.RANKED:
            await queue.submit(submission(mode, device="H200"), "ann")
    await queue.submit(RANKED.model_copy(update={"device": "B200"}), "ann")
    await contest.unset_window(PROBLEM, "H200")
    await queue.submit(ON_H200, "ann")


async def test_a_job_for_any_device_is_taken_where_one_board_takes_it(queue, contest):
    over = datetime.now(UTC) - HOUR
    await contest.set_window(window(None, over))
    await queue.submit(RANKED, "ann")  # nobody knows yet where it will run
    await queue.heartbeat(GPU_WORKER)
    with pytest.raises(OutsideWindow, match="on H200 until"):
        await queue.submit(RANKED, "ann")
    await queue.heartbeat(B200_WORKER)
    await queue.submit(RANKED, "ann")
    await contest.set_window(window(None, over, "B200"))
    with pytest.raises(OutsideWindow) as refused:
        await queue.submit(RANKED, "ann")
    assert {each["device"] for each in refused.value.windows} == {"H200", "B200"}


async def test_a_repeated_request_gives_its_job_after_the_deadline_too(queue, contest):
    job = await queue.submit(ON_H200, "ann", idempotency_key="k")
    await contest.set_window(window(None, datetime.now(UTC) - HOUR))
    assert (await queue.submit(ON_H200, "ann", idempotency_key="k")).id == job.id
    with pytest.raises(OutsideWindow):
        await queue.submit(ON_H200, "ann", idempotency_key="other")


async def test_a_board_is_listed_from_the_setting_of_its_window_on_and_results_stay(queue, contest):
    boards = Leaderboards(queue.store)
    await ranked(queue, "ann", 10.0)
    over = datetime(2026, 1, 1, tzinfo=UTC)
    await contest.set_window(window(None, over))
    await contest.set_window(window(over, None, "B200"))
    empty, standing = await boards.boards()
    assert (empty.device, empty.entries, empty.best) == ("B200", 0, None)
    assert (empty.window.opens_at, empty.window.closes_at) == (over, None)
    assert (standing.best.owner, standing.window.closes_at) == ("ann", over)
