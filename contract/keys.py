"""API keys: who may use the service, and as what.

A key is `hb_ID_SECRET`. Redis holds the SHA-256 of its secret: with 256 random bits there is
nothing to guess, so a slow hash, which protects passwords that people choose, would only make each
request slow. A revoked key stays listed, so that a service which had keys once never becomes open
again by revoking the last of them.

Several keys may have one name. The name owns jobs and is held to quotas, so a key is replaced
without losing its jobs, and a dashboard reads with a key that cannot submit. Callbacks are signed
with a secret of the name: it can be read again, as it opens nothing here.
"""

import base64
import hmac
import re
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from contract.prelude import PRELUDE
from contract.records import fields_from, time_from
from contract.store import Store

ANONYMOUS = "anonymous"
"""Who owns the jobs of a service without keys."""
_TOKEN = re.compile("hb_([0-9a-f]{12})_([0-9a-f]{64})")
NAME = re.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""What somebody may be called."""

MAKE_KEY = """
local function make_key(id, name, role, digest)
  redis.call('HSET', key('key', id), 'id', id, 'name', name, 'role', role, 'digest', digest,
    'created_at', now)
  redis.call('SADD', key('keys'), id)
end
"""
"""Follows the prelude in a script."""
_CREATE = (
    PRELUDE
    + MAKE_KEY
    + """
make_key(given.id, given.name, given.role, given.digest)
return redis.call('HGETALL', key('key', given.id))
"""
)
_REVOKE = (
    PRELUDE
    + """
if redis.call('SISMEMBER', key('keys'), given.id) == 0 then return false end
redis.call('HSETNX', key('key', given.id), 'revoked_at', now)
return redis.call('HGETALL', key('key', given.id))
"""
)
_LIST = (
    PRELUDE
    + """
local rows = {}
for _, id in ipairs(redis.call('SMEMBERS', key('keys'))) do
  rows[#rows + 1] = redis.call('HGETALL', key('key', id))
end
return rows
"""
)
_EXIST = PRELUDE + "return redis.call('EXISTS', key('keys'))"
_FIND = PRELUDE + "return redis.call('HGETALL', key('key', given.id))"
_KNOWN = (
    PRELUDE
    + """
if redis.call('EXISTS', key('jobs', given.name)) == 1 then return 1 end
for _, id in ipairs(redis.call('SMEMBERS', key('keys'))) do
  if redis.call('HGET', key('key', id), 'name') == given.name then return 1 end
end
return 0
"""
)
_CALLBACK_SECRET = (
    PRELUDE
    + """
redis.call('HSETNX', key('secrets'), given.name, given.secret)
return redis.call('HGET', key('secrets'), given.name)
"""
)


class Role(StrEnum):
    """What a key may do; each may do what the one before it may."""

    READ = "read"
    """Look at the jobs of its name, at workers, the queue and figures."""
    SUBMIT = "submit"
    """Submit and cancel as well."""
    ADMIN = "admin"
    """See and cancel everybody's jobs, drain workers; held to no quota."""

    def covers(self, needed: "Role") -> bool:
        """Whether this role may do what `needed` may."""
        order = list(Role)
        return order.index(self) >= order.index(needed)


class ApiKey(BaseModel):
    """A key without its secret."""

    model_config = ConfigDict(frozen=True)

    id: str
    name: str
    role: Role
    created_at: datetime
    revoked_at: datetime | None = None


class Kept(NamedTuple):
    """What Redis holds of a token."""

    id: str
    digest: str


class NewKey(NamedTuple):
    """A key that was just made, and the only copy of what its holder has to present."""

    key: ApiKey
    token: str


class KeyStore:
    """The keys of one queue. Any method raises `QueueUnavailable` while Redis does not answer."""

    def __init__(self, store: Store) -> None:
        """Keep keys where the queue is."""
        self._store = store

    async def create(self, name: str, role: Role) -> NewKey:
        """Make a key; its token cannot be had again.

        Raises:
            ValueError: the name is not 1 to 64 letters, digits, `.`, `_` and `-`.

        """
        if not NAME.fullmatch(name):
            raise ValueError("a name has 1 to 64 letters, digits, '.', '_' and '-'")
        token = draw_token()
        kept = kept_of(token)
        assert kept is not None
        row = await self._store.run(_CREATE, name=name, role=role, **kept._asdict())
        return NewKey(key_from(fields_from(row)), token)

    async def revoke(self, key_id: str) -> ApiKey:
        """Make a key void, for good; one that is void stays so.

        Raises:
            KeyError: there is none of this id.

        """
        row = await self._store.run(_REVOKE, id=key_id)
        if row is None:
            raise KeyError(key_id)
        return key_from(fields_from(row))

    async def list(self) -> Sequence[ApiKey]:
        """Return all keys, the oldest first, the revoked ones too."""
        rows = await self._store.run(_LIST)
        return sorted(map(key_from, map(fields_from, rows)), key=lambda key: key.created_at)

    async def exist(self) -> bool:
        """Whether a key was ever made."""
        return bool(await self._store.run(_EXIST))

    async def holder(self, token: str) -> ApiKey | None:
        """Return the key of a token, None where it has none that holds."""
        kept = kept_of(token)
        if kept is None:
            return None
        fields = fields_from(await self._store.run(_FIND, id=kept.id))
        right = hmac.compare_digest(fields.get("digest", ""), kept.digest)
        return key_from(fields) if right and "revoked_at" not in fields else None

    async def knows(self, name: str) -> bool:
        """Whether something may be signed for a name: that of a key, revoked or not, or of a job.

        Without keys jobs are sent under names of which there is no list.
        """
        return name == ANONYMOUS or bool(await self._store.run(_KNOWN, name=name))

    async def callback_secret(self, name: str) -> str:
        """Return what the callbacks of a name's jobs are signed with, `whsec_...`; made at need."""
        drawn = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode("ascii")
        secret: bytes = await self._store.run(_CALLBACK_SECRET, name=name, secret=drawn)
        return secret.decode()


def draw_token() -> str:
    """Draw what the holder of a key presents. It opens nothing until a key is made of it."""
    return f"hb_{secrets.token_hex(6)}_{secrets.token_hex(32)}"


def kept_of(token: str) -> Kept | None:
    """Return what is kept of a token; None where it is none."""
    parts = _TOKEN.fullmatch(token)
    return parts and Kept(parts[1], sha256(parts[2].encode()).hexdigest())


def key_from(fields: Mapping[str, str]) -> ApiKey:
    """Read a key."""
    revoked_at = fields.get("revoked_at")
    return ApiKey(
        id=fields["id"],
        name=fields["name"],
        role=Role(fields["role"]),
        created_at=time_from(fields["created_at"]),
        revoked_at=time_from(revoked_at) if revoked_at else None,
    )
