"""When a leaderboard takes ranked jobs: what is sent decides, and not when it is judged."""

import random
import time
from datetime import UTC, datetime, timedelta

import pytest

from contract.contest import Contest
from contract.deliveries import Deliveries
from contract.errors import OutsideWindow, QueueUnavailable
from contract.job import Job, Lease
from contract.leaderboard import Leaderboards
from contract.queue import JobQueue
from contract.ranked_feed import RankedFeed
from contract.results import Results
from contract.submission import Mode
from contract.windows import BoardWindow, moment, row_of
from tests.contract.examples import submission
from tests.contract.ranked import GPU_WORKER, PROBLEM, RANKED, ranked, timed

MS = timedelta(milliseconds=1)
OUTSIDE = "it was sent outside of the window of the board"
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


async def counting(queue: JobQueue) -> dict[str, float]:
    """What counts, as a reader of the feed knows it; what the history says has to agree."""
    told: dict[str, float] = {}
    for entry in await RankedFeed(queue.store).after(0, 1000):
        if entry.counts and entry.geomean_us is not None:
            told[entry.job] = entry.geomean_us
        else:
            told.pop(entry.job, None)
    kept: dict[str, float] = {}
    for owner in ("ann", "bob"):
        history, _ = await Results(queue.store).history(PROBLEM, "H200", owner, 100)
        kept |= {each.job: each.geomean_us for each in history if each.counts}
    assert told == kept
    return told


async def test_a_window_is_kept_to_the_millisecond_changed_and_unset(contest):
    at = datetime(2026, 12, 1, 12, 0, 0, 123_999, UTC)
    kept, _ = await contest.set_window(window(None, at), "root")
    assert kept == window(None, at.replace(microsecond=123_000))
    longer, _ = await contest.set_window(window(at, at + HOUR), "root")
    other, _ = await contest.set_window(window(at, None, "B200"), "root")
    assert await contest.windows() == [other, longer]
    assert await contest.unset_window(PROBLEM, "H200", "root") == (0, 0)
    assert await contest.unset_window(PROBLEM, "H200", "root") is None
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
    await contest.set_window(window(*bounds), "root")
    lease = await queue.claim(GPU_WORKER, 0)
    await queue.finish(lease, timed(10.0))
    assert await owners(queue) == (["ann"] if counts else [])
    entry = await RankedFeed(queue.store).entry(1)
    why_not = None if counts else OUTSIDE
    assert (entry.counts, entry.why_not, entry.geomean_us) == (counts, why_not, 10.0)
    assert (await queue.get(job.id)).why_not == why_not


async def test_jobs_are_taken_up_to_the_deadline_and_those_that_were_count_after_it(queue, contest):
    kept, _ = await contest.set_window(window(None, datetime.now(UTC) + 300 * MS), "root")
    closes_at = kept.closes_at
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
    await contest.set_window(window(now + HOUR, now + 2 * HOUR), "root")
    before = sorted(await redis.keys())
    with pytest.raises(OutsideWindow, match=f"from {moment(now + HOUR)[:19]}.* until "):
        await queue.submit(ON_H200, "ann")
    assert sorted(await redis.keys()) == before
    for mode in Mode:
        if mode is not Mode.RANKED:
            await queue.submit(submission(mode, device="H200"), "ann")
    await queue.submit(RANKED.model_copy(update={"device": "B200"}), "ann")
    await contest.unset_window(PROBLEM, "H200", "root")
    await queue.submit(ON_H200, "ann")


async def test_a_job_for_any_device_is_taken_where_one_board_takes_it(queue, contest):
    over = datetime.now(UTC) - HOUR
    await contest.set_window(window(None, over), "root")
    await queue.submit(RANKED, "ann")  # nobody knows yet where it will run
    await queue.heartbeat(GPU_WORKER)
    with pytest.raises(OutsideWindow, match="on H200 until"):
        await queue.submit(RANKED, "ann")
    await queue.heartbeat(B200_WORKER)
    await queue.submit(RANKED, "ann")
    await contest.set_window(window(None, over, "B200"), "root")
    with pytest.raises(OutsideWindow) as refused:
        await queue.submit(RANKED, "ann")
    assert {each["device"] for each in refused.value.windows} == {"H200", "B200"}


async def test_a_repeated_request_gives_its_job_after_the_deadline_too(queue, contest):
    job = await queue.submit(ON_H200, "ann", idempotency_key="k")
    await contest.set_window(window(None, datetime.now(UTC) - HOUR), "root")
    assert (await queue.submit(ON_H200, "ann", idempotency_key="k")).id == job.id
    with pytest.raises(OutsideWindow):
        await queue.submit(ON_H200, "ann", idempotency_key="other")


async def test_a_board_is_listed_from_the_setting_of_its_window_on(queue, contest):
    boards = Leaderboards(queue.store)
    await ranked(queue, "ann", 10.0)
    past = datetime(2026, 1, 1, tzinfo=UTC)
    await contest.set_window(window(past, None), "root")
    await contest.set_window(window(past, None, "B200"), "root")
    empty, standing = await boards.boards()
    assert (empty.device, empty.entries, empty.best) == ("B200", 0, None)
    assert (empty.window.opens_at, empty.window.closes_at) == (past, None)
    assert (standing.best.owner, standing.window.opens_at) == ("ann", past)


async def test_a_window_that_is_corrected_corrects_the_board_and_the_feed_tells(queue, contest):
    """What ended under a window that was set by mistake counted for nothing, for good."""
    over = datetime(2026, 1, 1, tzinfo=UTC)
    before = await ranked(queue, "ann", 10.0)
    meanwhile = await queue.submit(RANKED, "bob")
    lease = await queue.claim(GPU_WORKER, 0)
    assert (await contest.set_window(window(None, over), "root"))[1] == (0, 1)
    await queue.finish(lease, timed(5.0))
    assert await owners(queue) == []
    for job in before, meanwhile:
        assert (await queue.get(job.id)).why_not == OUTSIDE
    assert await counting(queue) == {}
    assert (await contest.set_window(window(over, None), "ann"))[1] == (2, 0)
    assert await owners(queue) == ["bob", "ann"]
    for job in before, meanwhile:
        assert (await queue.get(job.id)).why_not is None
    assert await counting(queue) == {before.id: 10.0, meanwhile.id: 5.0}
    entries = await RankedFeed(queue.store).after(0, 9)
    assert [(each.type, each.job, each.why_not, each.by) for each in entries] == [
        ("verdict", before.id, None, None),
        ("excluded", before.id, OUTSIDE, "root"),
        ("verdict", meanwhile.id, OUTSIDE, None),
        ("included", before.id, None, "ann"),
        ("included", meanwhile.id, None, "ann"),
    ]
    back = entries[-1]
    assert (back.owner, back.geomean_us, back.job_number) == ("bob", 5.0, meanwhile.number)
    assert (back.created_at, back.reason) == (
        meanwhile.created_at,
        "the window of the board was changed",
    )


async def test_unsetting_a_window_lets_count_what_it_kept_out_and_tells_the_webhook(queue, contest):
    await RankedFeed(queue.store).set_webhook("https://board.example/", "root")
    await ranked(queue, "ann", 10.0)
    other = await ranked(queue, "ann", 20.0, "B200")
    await contest.set_window(window(None, datetime(2026, 1, 1, tzinfo=UTC)), "root")
    assert await owners(queue) == []
    assert await contest.unset_window(PROBLEM, "H200", "root") == (1, 0)
    assert await owners(queue) == ["ann"]
    due = await Deliveries(queue.store).take("posts", 9, 30, 3)
    assert [each.id for each in due] == [f"ranked-{number}" for number in (1, 2, 3, 4)]
    assert (await queue.get(other.id)).why_not is None  # the other board has no window


async def test_the_next_best_that_is_inside_takes_the_place(queue, contest, wait_until):
    first = await ranked(queue, "ann", 20.0)
    await wait_until(lambda: datetime.now(UTC) > first.created_at + MS, "the next millisecond")
    second = await ranked(queue, "ann", 10.0)
    await contest.set_window(window(None, second.created_at), "root")
    page = await Leaderboards(queue.store).page(PROBLEM, "H200")
    assert page.entries[0].geomean_us == 20.0
    history, _ = await Results(queue.store).history(PROBLEM, "H200", "ann", 1)
    assert [(each.job, each.counts, each.disqualified) for each in history] == [
        (second.id, False, None)
    ]


async def test_a_decision_and_a_window_keep_a_result_out_each_for_itself(queue, contest):
    results, over = Results(queue.store), window(None, datetime(2026, 1, 1, tzinfo=UTC))
    job = await ranked(queue, "ann", 10.0)
    await results.disqualify(job.id, "a cheat", "root")
    assert (await contest.set_window(over, "root"))[1] == (0, 0)
    assert not (await results.reinstate(job.id, "it is none", "root")).counts
    assert await owners(queue) == []
    entry = await RankedFeed(queue.store).entry(3)
    assert (entry.type, entry.counts, entry.why_not) == ("reinstated", False, OUTSIDE)
    await results.disqualify(job.id, "it is", "root")
    assert await contest.unset_window(PROBLEM, "H200", "root") == (0, 0)
    assert await owners(queue) == []
    assert (await results.reinstate(job.id, "it is none", "root")).counts
    assert await owners(queue) == ["ann"]


async def test_a_change_that_was_broken_off_is_ended_by_the_next(
    queue, contest, redis, monkeypatch
):
    monkeypatch.setattr("contract.contest.SETTLED_AT_ONCE", 2)
    jobs = [await ranked(queue, "ann", 10.0 + at) for at in range(5)]
    over = window(None, datetime(2026, 1, 1, tzinfo=UTC))
    board = f"{PROBLEM}:H200"
    await redis.hset("halfbyte:windows", board, row_of(over))  # as far as it came
    assert len(await counting(queue)) == 5
    assert (await contest.set_window(over, "root"))[1] == (0, 5)
    await redis.hdel("halfbyte:windows", board)
    assert await counting(queue) == {}
    assert await contest.unset_window(PROBLEM, "H200", "root") is None
    assert list(await counting(queue)) == [job.id for job in jobs]


async def test_what_was_broken_off_is_gone_on_with_once_nobody_is_at_it(
    queue, contest, redis, monkeypatch
):
    """An API process that was killed meanwhile left a board half by the old window, for good."""
    monkeypatch.setattr("contract.contest.SETTLED_AT_ONCE", 2)
    jobs = [await ranked(queue, "ann", 10.0 + at) for at in range(5)]
    run, steps = queue.store.run, iter(range(1))

    async def dies(script: str, **arguments: object) -> object:
        if "most" in arguments and next(steps, None) is None:
            raise QueueUnavailable("killed")
        return await run(script, **arguments)

    over = window(None, datetime(2026, 1, 1, tzinfo=UTC))
    with monkeypatch.context() as patch:
        patch.setattr(queue.store, "run", dies)
        with pytest.raises(QueueUnavailable):
            await contest.set_window(over, "root")
    assert len(await counting(queue)) == 3
    assert await contest.go_on() == {}  # whoever does it may only be slow
    assert len(await counting(queue)) == 3
    monkeypatch.setattr("contract.contest.QUIET_MS", 0)
    assert await contest.go_on() == {f"{PROBLEM}:H200": (0, 3)}
    assert await counting(queue) == {}
    assert {each.by for each in await RankedFeed(queue.store).after(len(jobs), 9)} == {"root"}
    assert await contest.go_on() == {}
    assert not await redis.exists("halfbyte:settling")


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_came_before_a_board_follows_from_results_decisions_and_window(
    queue, contest, seed
):
    draw, results, bounds = random.Random(seed), Results(queue.store), window()
    running: list[Lease] = []
    ended: dict[str, tuple[Job, float]] = {}
    out: set[str] = set()
    for _ in range(60):
        match draw.choice(("send", "send", "end", "end", "set", "unset", "out", "back", "delete")):
            case "send":
                await queue.submit(RANKED, draw.choice(("ann", "bob")))
                running.append(await queue.claim(GPU_WORKER, 0))
            case "end" if running:
                lease, score = (
                    running.pop(draw.randrange(len(running))),
                    float(draw.randrange(1, 6)),
                )
                await queue.finish(lease, timed(score))
                ended[lease.job.id] = lease.job, score
            case "set" if ended:
                first, last = sorted(draw.choice([*ended.values()])[0].created_at for _ in range(2))
                bounds = draw.choice((window(first), window(None, last), window(first, last)))
                await contest.set_window(bounds, "root")
            case "unset":
                bounds = window()
                await contest.unset_window(PROBLEM, "H200", "root")
            case "out" | "back" | "delete" as what if ended:
                job_id = draw.choice([*ended])
                if what == "out":
                    await results.disqualify(job_id, "a trial", "root")
                    out.add(job_id)
                elif what == "back":
                    await results.reinstate(job_id, "a trial", "root")
                    out.discard(job_id)
                else:
                    await results.delete(job_id, "a trial", "root")
                    del ended[job_id]
        counts = [each for each in ended.values() if takes(bounds, each[0], out)]
        assert await counting(queue) == {job.id: score for job, score in counts}
        best = dict.fromkeys(
            job.owner for job, score in sorted(counts, key=lambda each: (each[1], each[0].number))
        )
        assert await owners(queue) == list(best)


def takes(bounds: BoardWindow, job: Job, out: set[str]) -> bool:
    opens_at, closes_at = bounds.opens_at or job.created_at, bounds.closes_at
    late = closes_at is not None and job.created_at >= closes_at
    return job.id not in out and job.created_at >= opens_at and not late


async def test_what_a_window_keeps_out_is_kept_within_bounds(queue_settings, redis):
    queue = JobQueue.connect(queue_settings.model_copy(update={"results_kept": 2}))
    contest = Contest(queue.store)
    try:
        early = [await ranked(queue, "ann", score) for score in (3.0, 4.0)]
        jobs = [await queue.submit(RANKED, "ann") for _ in range(3)]
        leases = [await queue.claim(GPU_WORKER, 0) for _ in jobs]
        await contest.set_window(window(None, jobs[0].created_at), "root")
        for lease, score in zip(leases, (6.0, 5.0, 2.0), strict=True):
            await queue.finish(lease, timed(score))
        assert await counting(queue) == {job.id: 3.0 + at for at, job in enumerate(early)}
        assert len(await redis.keys("halfbyte:result:*")) == 4
        assert await contest.unset_window(PROBLEM, "H200", "root") == (2, 0)
        assert len(await counting(queue)) == 4
        last = await ranked(queue, "ann", 9.0)  # one more, and the slowest go, this one too
        assert last.id not in await counting(queue)
        assert await counting(queue) == {early[0].id: 3.0, jobs[2].id: 2.0}
        assert len(await redis.keys("halfbyte:result:*")) == 2
        assert await redis.zcard("halfbyte:sent:nvfp4_group_gemm:H200:results") == 2
    finally:
        await queue.close()
