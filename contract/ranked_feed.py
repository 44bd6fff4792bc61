"""The feed: every ranked verdict, and every decision about a result, in the order they happened.

What a leaderboard elsewhere is built from. Entries are numbered without a gap, by the scripts that
enter results, so a reader that has them all up to a number has missed nothing.

    ranked                stream: the entries, id NUMBER-0       ranked_number   the last one's
    webhook               hash: where each entry is posted, and whose secret signs it

An entry that is to be posted lies among the `posts` (deliveries.py) as `ranked-NUMBER`.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from contract.errors import InvalidSubmission, JobNotFound
from contract.prelude import PRELUDE
from contract.records import fields_from, time_from
from contract.store import Store

_READ = (
    PRELUDE
    + """
local first = redis.call('XRANGE', key('ranked'), '-', '+', 'COUNT', 1)[1]
local newest = tonumber(redis.call('GET', key('ranked_number')) or 0)
return {first and first[1] or false, newest, redis.call('XRANGE', key('ranked'),
  '(' .. given.after .. '-0', '+', 'COUNT', given.limit)}
"""
)
_ENTRY = (
    PRELUDE
    + "return redis.call('XRANGE', key('ranked'), given.number .. '-0', given.number .. '-0')"
)
_HOOK = PRELUDE + "return redis.call('HGETALL', key('webhook'))"
_SET_HOOK = (
    PRELUDE
    + """
redis.call('HSET', key('webhook'), 'url', given.url, 'name', given.name, 'since', now)
return redis.call('HGETALL', key('webhook'))
"""
)
_UNSET_HOOK = PRELUDE + "return redis.call('DEL', key('webhook'))"

_COUNTING = ("verdict", "reinstated", "included")


class RankedEntry(BaseModel):
    """One entry of the feed."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    number: int
    """From 1, without a gap."""
    type: Literal["verdict", "disqualified", "reinstated", "deleted", "included", "excluded"]
    """The last two: the window of the board was changed."""
    at: datetime
    job: str
    job_number: int
    """Jobs are numbered as they are sent: of equal scores the lowest stands first."""
    created_at: datetime
    """When the job was sent."""
    owner: str
    problem: str
    device: str
    geomean_us: float | None = None
    """The score, in all its digits; null where there is none."""
    counts: bool
    """Whether the result counts from now on."""
    outcome: str | None = None
    """Of a verdict."""
    why_not: str | None = None
    """Of what does not count though nobody disqualified or deleted it."""
    reason: str | None = None
    """Of a decision."""
    by: str | None = None
    """Who decided; null where nobody did, and the slowest result of an owner went."""


class Webhook(BaseModel):
    """Where every entry of the feed is posted from its registration on."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    url: str
    name: str
    """Whose callback secret signs it: the admin who registered it."""
    since: datetime


class RankedFeed:
    """The feed of one queue. Raises `QueueUnavailable` while Redis does not answer."""

    def __init__(self, store: Store) -> None:
        """Read what finished jobs and decisions have entered."""
        self._store = store

    async def after(self, number: int, limit: int) -> Sequence[RankedEntry]:
        """Return the entries that follow one; 0 is before the first.

        Raises:
            InvalidSubmission: there is none of this number, or what follows is no longer kept.

        """
        first, newest, rows = await self._store.run(_READ, after=str(number), limit=limit)
        if first is not None and number + 1 < (kept := _number(first)):
            raise InvalidSubmission(
                "after",
                f"entries up to {kept - 1} are no longer kept; the oldest is {kept}",
                oldest=kept,
                newest=newest,
            )
        if number > newest:
            raise InvalidSubmission(
                "after",
                f"the newest entry is {newest}, there is no {number}",
                oldest=None if first is None else _number(first),
                newest=newest,
            )
        return [_entry(*row) for row in rows]

    async def entry(self, number: int) -> RankedEntry:
        """Return one entry.

        Raises:
            JobNotFound: there is none of this number, or it is no longer kept.

        """
        rows = await self._store.run(_ENTRY, number=str(number))
        if not rows:
            raise JobNotFound(f"ranked-{number}")
        return _entry(*rows[0])

    async def webhook(self) -> Webhook | None:
        """Return where entries are posted, None where nowhere."""
        flat = await self._store.run(_HOOK)
        return _hook(flat) if flat else None

    async def set_webhook(self, url: str, name: str) -> Webhook:
        """Have every later entry posted to an address, signed with the secret of a name."""
        return _hook(await self._store.run(_SET_HOOK, url=url, name=name))

    async def unset_webhook(self) -> bool:
        """Post nothing any more, what waits included; false where nothing was."""
        return bool(await self._store.run(_UNSET_HOOK))


def _number(stream_id: bytes) -> int:
    return int(stream_id.partition(b"-")[0])


def _entry(stream_id: bytes, flat: Sequence[bytes]) -> RankedEntry:
    fields = fields_from(flat)
    counts = fields["type"] in _COUNTING and "why_not" not in fields
    times = {name: time_from(fields[name]) for name in ("at", "created_at")}
    return RankedEntry.model_validate(
        {**fields, **times, "number": _number(stream_id), "counts": counts}
    )


def _hook(flat: Sequence[bytes]) -> Webhook:
    fields = fields_from(flat)
    return Webhook(url=fields["url"], name=fields["name"], since=time_from(fields["since"]))
