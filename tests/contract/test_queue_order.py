"""Who is next: fairness between owners, classes of jobs, devices, and nobody who starves."""

from contract.submission import Mode
from tests.contract.examples import LOST, passed, submission, worker


async def run_next(queue, *serves):
    """Claim and finish the next job on a worker that takes all modes; return it."""
    able = worker(serves=serves or ("any",)).model_copy(update={"device": "H200", "ranked": True})
    lease = await queue.claim(able, 0)
    await queue.finish(lease, passed())
    return lease.job


async def submit_many(queue, count, owner, mode=Mode.TEST, device="any"):
    return [await queue.submit(submission(mode, device), owner) for _ in range(count)]


async def test_jobs_of_one_owner_and_class_run_in_the_order_they_came(queue):
    jobs = await submit_many(queue, 12, "alice")
    assert [(await run_next(queue)).number for _ in jobs] == [job.number for job in jobs]


async def test_a_flood_delays_another_owners_job_by_one_job_at_most(queue):
    await submit_many(queue, 200, "flood")
    for _ in range(3):
        await run_next(queue)
    job = await queue.submit(submission(), "alice")
    assert job.position <= 2


async def test_a_flood_of_long_jobs_delays_another_long_job_by_one_job_at_most(queue):
    """Also when the device has run short jobs of a third owner meanwhile."""
    await submit_many(queue, 200, "flood", Mode.BENCHMARK)
    for _ in range(23):
        await queue.submit(submission(), "carol")
        await run_next(queue)
    await queue.submit(submission(Mode.BENCHMARK), "alice")
    owners = []
    while "alice" not in owners:
        owners.append((await run_next(queue)).owner)
    assert owners.count("flood") <= 1


async def test_two_floods_take_turns(queue):
    await submit_many(queue, 20, "alice")
    await submit_many(queue, 20, "bob")
    owners = [(await run_next(queue)).owner for _ in range(40)]
    assert owners == ["alice", "bob"] * 20


async def test_an_owner_who_was_idle_has_saved_nothing_up(queue):
    await submit_many(queue, 1, "bob")
    await submit_many(queue, 30, "alice")
    for _ in range(21):
        await run_next(queue)
    await submit_many(queue, 10, "bob")
    owners = [(await run_next(queue)).owner for _ in range(20)]
    assert owners == ["alice", "bob"] * 10


async def test_short_jobs_go_before_ranked_and_ranked_before_long_ones(queue):
    for mode in (Mode.PROFILE, Mode.BENCHMARK, Mode.RANKED, Mode.COMPILE, Mode.TEST):
        await queue.submit(submission(mode), mode.value)
    modes = [(await run_next(queue)).mode for _ in range(5)]
    assert modes == [Mode.COMPILE, Mode.TEST, Mode.RANKED, Mode.PROFILE, Mode.BENCHMARK]


async def test_a_short_job_does_not_wait_for_the_long_ones_of_its_own_owner(queue):
    await submit_many(queue, 50, "alice", Mode.BENCHMARK)
    assert (await queue.submit(submission(Mode.TEST), "alice")).position == 1


async def test_a_long_job_is_reached_however_many_short_ones_come(queue):
    long = await queue.submit(submission(Mode.PROFILE), "alice")
    for turn in range(20):
        await submit_many(queue, 2, f"owner {turn}")
        if (await run_next(queue)).id == long.id:
            return
    raise AssertionError("the long job starves")


async def test_a_long_job_for_one_device_is_reached_past_short_ones_for_another(queue):
    await queue.submit(submission(Mode.PROFILE, "H200"), "alice")
    for _ in range(20):
        await queue.submit(submission(), "bob")
        if (await run_next(queue, "H200", "any")).owner == "alice":
            return
    raise AssertionError("the long job starves")


async def test_a_flood_for_any_device_delays_a_job_for_this_one_by_one_job(queue):
    await submit_many(queue, 50, "flood")
    await run_next(queue, "H200", "any")
    await queue.submit(submission(device="H200"), "alice")
    owners = [(await run_next(queue, "H200", "any")).owner for _ in range(2)]
    assert "alice" in owners


async def test_a_busy_device_does_not_age_the_jobs_of_another(queue):
    await submit_many(queue, 40, "flood", device="cpu")
    await submit_many(queue, 10, "bob", device="H200")
    for _ in range(40):
        await run_next(queue, "cpu")
    await queue.submit(submission(device="H200"), "alice")
    owners = [(await run_next(queue, "H200")).owner for _ in range(2)]
    assert "alice" in owners


async def test_a_worker_gets_no_job_of_a_device_that_it_does_not_serve(queue):
    await queue.submit(submission(device="B200"), "alice")
    assert await queue.claim(worker(serves=("H200", "any")), 0) is None


async def test_positions_are_the_order_in_which_jobs_run(queue):
    jobs = []
    for number in range(12):
        mode = (Mode.TEST, Mode.COMPILE, Mode.BENCHMARK)[number % 3]
        jobs.append(await queue.submit(submission(mode), f"owner {number % 4}"))
    placed = {(await queue.get(job.id)).position: job.id for job in jobs}
    assert sorted(placed) == list(range(1, 13))
    assert [(await run_next(queue)).id for _ in jobs] == [placed[at] for at in range(1, 13)]


async def test_positions_move_up_when_a_job_ahead_is_cancelled(queue):
    first, second, third = await submit_many(queue, 3, "alice")
    await queue.cancel(second.id)
    assert [(await queue.get(job.id)).position for job in (first, third)] == [1, 2]


async def test_a_job_put_back_runs_before_what_came_after_it(queue):
    await submit_many(queue, 5, "alice")
    lease = await queue.claim(worker(), 0)
    await submit_many(queue, 5, "bob")
    await run_next(queue)
    await queue.release(lease, LOST)
    assert (await run_next(queue)).id == lease.job.id


async def test_a_job_put_back_does_not_turn_back_the_round(queue):
    await submit_many(queue, 5, "alice")
    lease = await queue.claim(worker(), 0)
    for _ in range(3):
        await run_next(queue)
    await queue.release(lease, LOST)
    await run_next(queue)
    await submit_many(queue, 5, "bob")
    assert (await run_next(queue)).owner == "alice"


async def test_the_memory_of_rounds_expires(queue, redis):
    """Also checked after every test: nothing of an order is left for ever."""
    await queue.submit(submission(), "alice")
    assert await redis.ttl("halfbyte:clock:any") == -1
    await run_next(queue)
    assert await redis.ttl("halfbyte:clock:any") > 0
    await queue.submit(submission(), "alice")
    assert await redis.ttl("halfbyte:clock:any") == -1
    assert await redis.ttl("halfbyte:round:any:0:alice") > 0
