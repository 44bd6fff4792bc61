"""Sessions of people in browsers: a key is shown once, and a token stands for it until the evening.

Redis holds a digest of the token and the id of the key. A session is as good as its key: it ends
when that is revoked, and by itself after `SESSION_S`.
"""

import re
import secrets
from hashlib import sha256

from contract.keys import ApiKey, key_from
from contract.prelude import PRELUDE
from contract.records import fields_from
from contract.store import Store

SESSION_S = 12 * 3600
"""From signing in to having to do it again."""
MOST_SESSIONS = 100
"""Of one key; the oldest end first, so that signing in again and again fills nothing."""
_TOKEN = re.compile("hs_[0-9a-f]{64}")

_OPEN = (
    PRELUDE
    + """
local opened = key('sessions', given.key)
redis.call('SET', key('session', given.digest), given.key, 'EX', given.for_s)
redis.call('ZADD', opened, now, given.digest)
redis.call('EXPIRE', opened, given.for_s)
for _, digest in ipairs(redis.call('ZRANGE', opened, 0, -1 - given.most)) do
  redis.call('DEL', key('session', digest))
  redis.call('ZREM', opened, digest)
end
"""
)
_FIND = (
    PRELUDE
    + """
local id = redis.call('GET', key('session', given.digest))
return id and redis.call('HGETALL', key('key', id)) or {}
"""
)
_CLOSE = PRELUDE + "redis.call('DEL', key('session', given.digest))"


class Sessions:
    """The sessions of one queue. Raises `QueueUnavailable` while Redis does not answer."""

    def __init__(self, store: Store) -> None:
        """Keep sessions where the keys are."""
        self._store = store

    async def open(self, key: ApiKey) -> str:
        """Begin a session for who holds a key; return its token, `hs_...`."""
        token = f"hs_{secrets.token_hex(32)}"
        await self._store.run(
            _OPEN, digest=_digest(token), key=key.id, for_s=SESSION_S, most=MOST_SESSIONS
        )
        return token

    async def holder(self, token: str) -> ApiKey | None:
        """Return the key that a token stands for, None where it stands for none that holds."""
        if not is_session(token):
            return None
        fields = fields_from(await self._store.run(_FIND, digest=_digest(token)))
        return key_from(fields) if fields and "revoked_at" not in fields else None

    async def close(self, token: str) -> None:
        """End a session; one that has ended stays so."""
        await self._store.run(_CLOSE, digest=_digest(token))


def is_session(token: str) -> bool:
    """Whether a token is that of a session, and not a key."""
    return _TOKEN.fullmatch(token) is not None


def _digest(token: str) -> str:
    return sha256(token.encode()).hexdigest()
