"""What an organiser opens and closes, whom he invites, and what is forgotten."""

import re

import pytest

from contract.archive import Archive
from contract.contest import Contest
from contract.errors import IntakeStopped, InvalidSubmission, JobNotFound, LeaseLost
from contract.invites import Invites
from contract.keys import KeyStore, Role, draw_token
from contract.queue import JobQueue
from tests.contract.examples import passed, submission, worker


async def test_the_intake_stops_and_starts(queue: JobQueue):
    contest = Contest(queue.store)
    await contest.check_open()
    await contest.accept(False)
    with pytest.raises(IntakeStopped):
        await contest.check_open()
    await contest.accept(True)
    await contest.check_open()


async def test_boards_are_hidden_by_problem(queue: JobQueue):
    contest = Contest(queue.store)
    await contest.show("one", False)
    await contest.show("two", False)
    await contest.show("one", True)
    assert await contest.hidden() == {"two"}


async def test_an_invite_and_a_token_make_a_key_under_a_drawn_name(queue: JobQueue):
    invites, keys = Invites(queue.store), KeyStore(queue.store)
    code, other = await invites.make(["nvfp4_group_gemm"], 2)
    token = draw_token()
    assert await keys.holder(token) is None
    invite = await invites.join(code, token)
    key = await keys.holder(token)
    assert re.fullmatch("guest-[0-9a-f]{8}", key.name)
    assert (key.role, key.name) == (Role.SUBMIT, invite.user_name)
    assert invite.claimed_at >= invite.created_at
    assert {each.code: each.user_name for each in await invites.list()} == {
        code: key.name,
        other: None,
    }
    assert (await invites.claim(code, key.name)) == invite


async def test_an_invite_is_for_one(queue: JobQueue):
    invites = Invites(queue.store)
    (code,) = await invites.make(["nvfp4_group_gemm"], 1)
    await invites.claim(code, "alice")
    with pytest.raises(InvalidSubmission, match="used by somebody else"):
        await invites.claim(code, "bob")
    with pytest.raises(InvalidSubmission, match="used by somebody else"):
        await invites.join(code, draw_token())


async def test_nobody_joins_with_a_key_of_somebody_else(queue: JobQueue):
    invites, keys = Invites(queue.store), KeyStore(queue.store)
    (code,) = await invites.make(["nvfp4_group_gemm"], 1)
    made = await keys.create("alice", Role.ADMIN)
    same_id = made.token[:16] + "0" * 64
    with pytest.raises(InvalidSubmission):
        await invites.join(code, same_id)
    await keys.revoke(made.key.id)
    with pytest.raises(InvalidSubmission):
        await invites.join(code, made.token)
    assert await keys.holder(same_id) is None
    assert await keys.holder(made.token) is None


async def test_a_revoked_invite_lets_nobody_in(queue: JobQueue):
    invites, keys = Invites(queue.store), KeyStore(queue.store)
    (code,) = await invites.make(["nvfp4_group_gemm"], 1)
    assert (await invites.revoke(code)).code == code
    assert await invites.revoke(code) is None
    token = draw_token()
    with pytest.raises(InvalidSubmission, match="no such invite"):
        await invites.join(code, token)
    assert await keys.holder(token) is None


@pytest.mark.parametrize("token", ["", "me", "hb_0_0"])
async def test_what_is_no_token_cannot_join(queue: JobQueue, token: str):
    invites = Invites(queue.store)
    (code,) = await invites.make(["nvfp4_group_gemm"], 1)
    with pytest.raises(InvalidSubmission, match="register"):
        await invites.join(code, token)
    assert (await invites.list())[0].user_name is None


async def test_a_job_is_found_by_its_number(queue: JobQueue):
    archive = Archive(queue.store)
    one, two = [await queue.submit(submission(), "alice") for _ in range(2)]
    assert await archive.numbered(one.number) == one.id
    assert await archive.numbered(two.number) == two.id
    for number in (-1, 0, two.number + 1, 10**30):
        with pytest.raises(JobNotFound):
            await archive.numbered(number)


@pytest.mark.parametrize("state", ["queued", "running", "finished"])
async def test_a_forgotten_job_leaves_nothing(queue: JobQueue, redis, state: str):
    archive = Archive(queue.store)
    job = await queue.submit(
        submission().model_copy(update={"callback_url": "http://example.org/"}), "alice"
    )
    other = await queue.submit(submission(), "alice")
    lease = await queue.claim(worker(), wait_s=0) if state != "queued" else None
    if state == "finished":
        await queue.finish(lease, passed())
    await archive.forget(job.id)
    await archive.forget(job.id)
    with pytest.raises(JobNotFound):
        await queue.get(job.id)
    assert [each.job.id for each in (await queue.list())[0]] == [other.id]
    assert [each.job.id for each in (await queue.list(owner="alice"))[0]] == [other.id]
    if state == "running":
        with pytest.raises(LeaseLost):
            await queue.finish(lease, passed())
    assert await queue.depth() == {"any": 1}
    assert not [key async for key in redis.scan_iter(f"*{job.id}*")]
    assert await redis.zcard("halfbyte:callbacks") == 0
    assert await redis.zcard("halfbyte:ended") == 0
    assert (await queue.claim(worker(), wait_s=0)).job.id == other.id
