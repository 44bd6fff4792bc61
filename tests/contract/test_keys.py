"""API keys: shown once, hashed at rest, void for good once revoked."""

import re

import pytest
from redis.asyncio import Redis

from contract.keys import KeyStore, Role
from contract.queue import JobQueue
from tests.contract.examples import submission


@pytest.fixture
def keys(queue: JobQueue) -> KeyStore:
    return KeyStore(queue.store)


async def test_a_key_is_known_by_its_token_alone(keys):
    made, other = await keys.create("alice", Role.SUBMIT), await keys.create("bob", Role.ADMIN)
    assert re.fullmatch("hb_[0-9a-f]{12}_[0-9a-f]{64}", made.token)
    assert await keys.holder(made.token) == made.key
    assert await keys.holder(other.token) == other.key
    assert (made.key.name, made.key.role, made.key.revoked_at) == ("alice", Role.SUBMIT, None)


async def test_what_is_no_token_of_a_key_has_no_holder(keys):
    one, other = await keys.create("alice", Role.READ), await keys.create("bob", Role.READ)
    (_, one_id, secret), (_, other_id, _) = one.token.split("_"), other.token.split("_")
    flipped = secret[:-1] + ("0" if secret[-1] != "0" else "1")
    for token in (
        *("", "hb", one_id, secret, f"hb_{one_id}_", f"hb_{one_id}_{'0' * 64}"),
        *(f"hb_{one_id}_{flipped}", f"hb_{other_id}_{secret}", f"hb_{'0' * 12}_{secret}"),
        *(one.token.upper(), one.token + "\n", f" {one.token}", f"hb_{one_id}_{secret}0", "hb_é_é"),
    ):
        assert await keys.holder(token) is None


async def test_no_secret_is_kept(keys, redis: Redis):
    made = await keys.create("alice", Role.ADMIN)
    secret = made.token.rpartition("_")[2].encode()
    kept = [await redis.hgetall(name) for name in await redis.keys("halfbyte:key:*")]
    assert len(kept) == 1
    assert all(secret not in value for value in kept[0].values())
    assert secret.decode() not in repr(await keys.list())


async def test_a_revoked_key_is_void_and_stays_listed(keys):
    made = await keys.create("alice", Role.SUBMIT)
    revoked = await keys.revoke(made.key.id)
    assert revoked.revoked_at is not None
    assert await keys.holder(made.token) is None
    assert await keys.revoke(made.key.id) == revoked
    assert await keys.list() == [revoked]
    assert await keys.exist()


async def test_keys_exist_from_the_first_one_on(keys):
    assert not await keys.exist()
    await keys.create("alice", Role.READ)
    assert await keys.exist()


async def test_a_key_that_never_was_cannot_be_revoked(keys):
    with pytest.raises(KeyError):
        await keys.revoke("0" * 12)
    assert await keys.list() == []


async def test_keys_are_listed_the_oldest_first(keys, redis: Redis):
    made = [(await keys.create(name, Role.READ)).key for name in ("carol", "alice", "bob", "alice")]
    for age, key in enumerate(made):
        await redis.hset(f"halfbyte:key:{key.id}", "created_at", 4_000 - age)
    assert [key.id for key in await keys.list()] == [key.id for key in reversed(made)]


@pytest.mark.parametrize("name", ["", "a:b", "a b", "-a", ".a", "a/b", "é", "a" * 65, "a\n"])
async def test_a_name_that_could_be_mistaken_is_refused(keys, name):
    with pytest.raises(ValueError, match="a name has"):
        await keys.create(name, Role.READ)
    assert not await keys.exist()


async def test_a_callback_secret_is_one_a_name_and_stays(keys):
    first = await keys.callback_secret("alice")
    assert first.startswith("whsec_")
    assert await keys.callback_secret("alice") == first
    assert await keys.callback_secret("bob") != first


async def test_only_who_has_a_key_or_a_job_is_known(keys, queue, redis):
    """A secret was made for every name with a slip of the pen in it, and nothing signed by it."""
    assert await keys.knows("anonymous")
    for name in ("alice", "bob", "", "ali"):
        assert not await keys.knows(name)
    key, _ = await keys.create("alice", Role.READ)
    await queue.submit(submission(), "bob")
    await keys.revoke(key.id)  # what is under way is signed for her still
    for name in ("alice", "bob"):
        assert await keys.knows(name)
    for name in ("", "ali", "bob:x"):
        assert not await keys.knows(name)
    assert await redis.exists("halfbyte:secrets") == 0


def test_roles_cover_those_below_them():
    assert [[role.covers(needed) for needed in Role] for role in Role] == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]
