"""Sessions: a token that stands for a key, as long as that holds."""

import re

import pytest

import contract.sessions
from contract.keys import KeyStore, Role
from contract.queue import JobQueue
from contract.sessions import SESSION_S, Sessions, is_session


@pytest.fixture
def sessions(queue: JobQueue) -> Sessions:
    return Sessions(queue.store)


@pytest.fixture
async def key(queue: JobQueue):
    return (await KeyStore(queue.store).create("alice", Role.SUBMIT)).key


async def test_a_session_stands_for_its_key_until_it_is_closed(sessions, key):
    token, other = await sessions.open(key), await sessions.open(key)
    assert re.fullmatch("hs_[0-9a-f]{64}", token)
    assert await sessions.holder(token) == key
    await sessions.close(token)
    await sessions.close(token)
    assert await sessions.holder(token) is None
    assert await sessions.holder(other) == key


async def test_a_session_ends_with_its_key(sessions, key, queue):
    token = await sessions.open(key)
    await KeyStore(queue.store).revoke(key.id)
    assert await sessions.holder(token) is None


async def test_a_session_ends_by_itself_and_its_token_is_not_kept(sessions, key, redis):
    token = await sessions.open(key)
    (name,) = await redis.keys("halfbyte:session:*")
    assert 0 < await redis.ttl(name) <= SESSION_S
    assert token.removeprefix("hs_").encode() not in name + await redis.get(name)


@pytest.mark.parametrize("token", ["", "hs_", "hs_" + "0" * 64, "hs_" + "g" * 64, "hb_0_0", "hs_é"])
async def test_what_was_never_given_out_stands_for_nothing(sessions, key, token):
    assert await sessions.holder(token) is None
    await sessions.close(token)


def test_a_key_is_no_session():
    assert is_session("hs_" + "0" * 64)
    assert not is_session("hb_" + "0" * 12 + "_" + "0" * 64)


async def test_a_key_has_so_many_sessions_and_others_keep_theirs(queue, sessions, key, monkeypatch):
    monkeypatch.setattr(contract.sessions, "MOST_SESSIONS", 3)
    bob = (await KeyStore(queue.store).create("bob", Role.READ)).key
    kept = await sessions.open(bob)
    tokens = [await sessions.open(key) for _ in range(8)]
    holders = [await sessions.holder(token) for token in tokens]
    assert holders.count(key) == 3
    assert await sessions.holder(kept) == bob
