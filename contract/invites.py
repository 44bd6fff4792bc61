"""Invites: codes that let people in without an operator at hand, one a person.

Who joins presents a token that opens nothing yet, as `draw_token` draws them, and a code; a key of
role `submit` is made of the two, under a name that is drawn here, so that nobody joins as somebody
else. Tokens that never join are kept nowhere. Codes stand in Redis as they are: whoever made them
has to be able to read them again.

    invites     hash: an invite as JSON, by code
"""

import json
import secrets
from collections.abc import Sequence
from datetime import datetime

from pydantic import BaseModel, ConfigDict

from contract.errors import InvalidSubmission
from contract.keys import MAKE_KEY, Role, kept_of
from contract.prelude import PRELUDE
from contract.store import Store

_MAKE = (
    PRELUDE
    + """
for _, code in ipairs(given.codes) do
  redis.call('HSET', key('invites'), code,
    cjson.encode({code = code, leaderboards = given.leaderboards, created_at = now}))
end
"""
)
_LIST = PRELUDE + "return redis.call('HVALS', key('invites'))"
_REVOKE = (
    PRELUDE
    + """
local invite = redis.call('HGET', key('invites'), given.code)
redis.call('HDEL', key('invites'), given.code)
return invite
"""
)
_CLAIM = (
    PRELUDE
    + MAKE_KEY
    + """
local row = redis.call('HGET', key('invites'), given.code)
if not row then return {'unknown'} end
local invite = cjson.decode(row)
if invite.user_name then return {invite.user_name == given.name and 'claimed' or 'taken', row} end
if given.id then
  if redis.call('EXISTS', key('key', given.id)) == 1 then return {'unknown'} end
  make_key(given.id, given.name, given.role, given.digest)
end
invite.user_name, invite.claimed_at = given.name, now
row = cjson.encode(invite)
redis.call('HSET', key('invites'), given.code, row)
return {'claimed', row}
"""
)


class Invite(BaseModel):
    """A code, and who joined with it."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    code: str
    leaderboards: tuple[str, ...]
    """What whoever joins is told to be on; a key opens every problem all the same."""
    created_at: datetime
    user_name: str | None = None
    """Null until somebody joins."""
    claimed_at: datetime | None = None


class Invites:
    """The invites of one queue. Raises `QueueUnavailable` while Redis does not answer."""

    def __init__(self, store: Store) -> None:
        """Keep invites where the keys are."""
        self._store = store

    async def make(self, leaderboards: Sequence[str], count: int) -> Sequence[str]:
        """Make invites, and return their codes."""
        codes = [secrets.token_urlsafe(16) for _ in range(count)]
        await self._store.run(_MAKE, codes=codes, leaderboards=list(leaderboards))
        return codes

    async def list(self) -> Sequence[Invite]:
        """Return all invites, the oldest first."""
        invites = [_invite_from(row) for row in await self._store.run(_LIST)]
        return sorted(invites, key=lambda invite: (invite.created_at, invite.code))

    async def revoke(self, code: str) -> Invite | None:
        """Forget an invite; None where there is none. A key that was made by it stays."""
        row = await self._store.run(_REVOKE, code=code)
        return None if row is None else _invite_from(row)

    async def claim(self, code: str, name: str) -> Invite:
        """Note that somebody who has a key came by an invite; to repeat it changes nothing.

        Raises:
            InvalidSubmission: there is no such code, or somebody else has it.

        """
        return await self._claimed(code, {"name": name})

    async def join(self, code: str, token: str) -> Invite:
        """Make a key of a token that opens nothing yet, under a name that is drawn.

        Raises:
            InvalidSubmission: as `claim`, or it is no token.

        """
        kept = kept_of(token)
        if kept is None:
            raise InvalidSubmission("cli_id", "register first: this is no id that can join")
        name = f"guest-{secrets.token_hex(4)}"
        return await self._claimed(code, {"name": name, "role": Role.SUBMIT, **kept._asdict()})

    async def _claimed(self, code: str, who: dict[str, str]) -> Invite:
        outcome, *row = await self._store.run(_CLAIM, code=code, **who)
        if outcome == b"claimed":
            return _invite_from(row[0])
        if outcome == b"taken":
            raise InvalidSubmission("code", "this invite was used by somebody else")
        raise InvalidSubmission("code", "there is no such invite, or it was revoked")


def _invite_from(row: bytes) -> Invite:
    fields = json.loads(row)
    times = {name: fields[name] / 1000 for name in ("created_at", "claimed_at") if name in fields}
    return Invite.model_validate(fields | times)
