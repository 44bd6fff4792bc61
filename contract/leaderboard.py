"""Leaderboards: who stands where, one a problem and device."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from contract.errors import InvalidSubmission
from contract.prelude import PRELUDE
from contract.results import NOT_OURS, Result, result_in
from contract.store import Store
from contract.windows import Window, window_from

_BOARDS = (
    PRELUDE
    + """
local names, boards = redis.call('ZRANGE', key('boards'), 0, -1), {}
for _, name in ipairs(redis.call('HKEYS', key('windows'))) do
  if not redis.call('ZSCORE', key('boards'), name) then names[#names + 1] = name end
end
table.sort(names)
for _, name in ipairs(names) do
  local best = redis.call('ZRANGE', key('standing', name), 0, 0)[1]
  local window = redis.call('HGET', key('windows'), name)
  if best or window then
    boards[#boards + 1] = {name, redis.call('ZCARD', key('standing', name)),
      best and redis.call('HGETALL', key('result', string.sub(best, 14))) or false, window}
  end
end
return boards
"""
)
_PAGE = (
    PRELUDE
    + """
local standing, first = key('standing', given.problem, given.device), 0
if given.after_us then
  first = redis.call('ZCOUNT', standing, '-inf', '(' .. given.after_us)
  for _, row in ipairs(redis.call('ZRANGEBYSCORE', standing, given.after_us, given.after_us)) do
    if row <= given.after_row then first = first + 1 end
  end
end
local last = given.limit and first + given.limit - 1 or -1
local rows, entries = redis.call('ZRANGE', standing, first, last, 'WITHSCORES'), {}
for row = 1, #rows, 2 do
  entries[#entries + 1] = redis.call('HGETALL', key('result', string.sub(rows[row], 14)))
end
local more = first + #entries < redis.call('ZCARD', standing)
return {first, entries, more and rows[#rows] .. ':' .. rows[#rows - 1]}
"""
)
_CURSOR = re.compile(r"(\d{1,18}(?:\.\d{1,24})?(?:e[+-]\d{1,3})?):(\d{12}:[0-9a-f]{32})", re.ASCII)


class Entry(Result):
    """Where an owner stands, with its best result that counts."""

    rank: int
    """From 1; no two are equal."""


class Board(BaseModel):
    """A leaderboard in a list."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    problem: str
    device: str
    entries: int
    best: Result | None
    """Null where nobody stands yet: a board is there from the setting of its window on."""
    window: Window | None = Field(default=None, exclude_if=lambda window: window is None)
    """When it takes ranked jobs; left out where it always does."""


class Page(NamedTuple):
    """Some entries, and the cursor of the next ones, None at the end."""

    entries: Sequence[Entry]
    next_cursor: str | None


class Leaderboards:
    """The boards of one queue. Raises `QueueUnavailable` while Redis does not answer."""

    def __init__(self, store: Store) -> None:
        """Read what finished jobs have entered."""
        self._store = store

    async def boards(self) -> Sequence[Board]:
        """Return the boards that anybody stands on or that have a window, by problem and device."""
        return [_board(*row) for row in await self._store.run(_BOARDS)]

    async def page(
        self, problem: str, device: str, limit: int | None = None, cursor: str | None = None
    ) -> Page:
        """Return the entries behind a cursor, all of them where there is no limit.

        An owner whose score changes between two pages may be on both or on neither; ranks are those
        of the moment.

        Raises:
            InvalidSubmission: `cursor` is none of ours.

        """
        after = None if cursor is None else _CURSOR.fullmatch(cursor)
        if cursor is not None and after is None:
            raise InvalidSubmission("cursor", NOT_OURS)
        first, rows, following = await self._store.run(
            _PAGE,
            problem=problem,
            device=device,
            limit=limit,
            after_us=after and after[1],
            after_row=after and after[2],
        )
        ranked = enumerate(map(result_in, rows), first + 1)
        return Page(
            [Entry.model_validate(result | {"rank": rank}) for rank, result in ranked],
            following.decode() if following else None,
        )


def _board(name: bytes, entries: int, best: Sequence[bytes] | None, window: bytes | None) -> Board:
    problem, _, device = name.decode().partition(":")
    return Board(
        problem=problem,
        device=device,
        entries=entries,
        best=None if best is None else Result.model_validate(result_in(best)),
        window=None if window is None else window_from(name, window),
    )
