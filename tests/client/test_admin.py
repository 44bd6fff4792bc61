"""`halfbyte admin`: keys are made on the machine, with the Redis of a running `halfbyte up`."""

import asyncio

from contract.keys import KeyStore, Role
from contract.queue import JobQueue
from contract.settings import QueueSettings


def test_a_key_is_made_with_the_redis_that_is_named(halfbyte, redis_server):
    done = halfbyte(
        "admin", "key", "create", "root", "--role", "admin", "--redis", redis_server.url
    )
    assert done.returncode == 0, done.stderr
    (token,) = done.stdout.splitlines()

    async def holder():
        queue = JobQueue.connect(QueueSettings(redis_url=redis_server.url))
        try:
            return await KeyStore(queue.store).holder(token)
        finally:
            await queue.close()

    key = asyncio.run(holder())
    assert (key.name, key.role) == ("root", Role.ADMIN)

    url = {"HALFBYTE_QUEUE_REDIS_URL": redis_server.url}
    listed = halfbyte("admin", "key", "list", **url)
    assert key.id in listed.stdout
    assert halfbyte("admin", "key", "revoke", key.id, **url).returncode == 0
    assert asyncio.run(holder()) is None
    secret = halfbyte("admin", "callback-secret", "root", **url).stdout
    assert secret.startswith("whsec_")


def test_without_a_running_up_and_a_redis_it_says_what_is_missing(halfbyte, tmp_path):
    done = halfbyte("admin", "key", "list", "--data", str(tmp_path))
    assert done.returncode == 2
    assert "a --redis URL" in done.stderr
