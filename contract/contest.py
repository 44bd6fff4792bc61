"""What an organiser opens and closes: the whole intake, the boards of a contest, and their windows.

Keys, under the prefix
    stopped     there while no job is accepted
    closed      set: problems whose boards are hidden
    windows     see windows.py
    settling    hash: by whom, and when last (ms), results were moved for a window, by
                PROBLEM:DEVICE; there until none is left to move
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from contract.errors import IntakeStopped
from contract.prelude import PRELUDE
from contract.ranking import RANKING
from contract.store import Store
from contract.windows import BoardWindow, row_of, window_from

_INTAKE = (
    PRELUDE
    + """
if given.open then redis.call('DEL', key('stopped')) else redis.call('SET', key('stopped'), 1) end
"""
)
_STOPPED = PRELUDE + "return redis.call('EXISTS', key('stopped'))"
_BOARD = PRELUDE + "redis.call(given.open and 'SREM' or 'SADD', key('closed'), given.problem)"
_CLOSED = PRELUDE + "return redis.call('SMEMBERS', key('closed'))"
_WINDOWS = PRELUDE + "return redis.call('HGETALL', key('windows'))"
_MOVING = """
local function moving(board)
  redis.call('HSET', key('settling'), board, cjson.encode({by = given.by, at = now}))
end
"""
_CHANGE = (
    PRELUDE
    + _MOVING
    + """
moving(given.board)
if given.window then return redis.call('HSET', key('windows'), given.board, given.window) end
return redis.call('HDEL', key('windows'), given.board)
"""
)
_LEFT = (
    PRELUDE
    + """
local rows, left = redis.call('HGETALL', key('settling')), {}
for row = 1, #rows, 2 do
  local last = cjson.decode(rows[row + 1])
  if now - last.at >= given.quiet_ms then left[#left + 1] = {rows[row], last.by} end
end
return left
"""
)
_SETTLE = (
    PRELUDE
    + RANKING
    + _MOVING
    + """
local window, moved = window_of(given.problem, given.device), {included = 0, excluded = 0, all = 0}

local function move(from, to, how, first, last)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', sent(given, from), first, last, 'LIMIT', 0,
      given.most)) do
    local at, disqualified = kept(id)
    note(at, to)
    moved.all = moved.all + 1
    if not disqualified then
      put(at, to)
      at.by, at.reason = given.by, 'the window of the board was changed'
      at.why_not = to == OUTSIDE and SENT_OUTSIDE or nil
      announce(how, at)
      moved[how] = moved[how] + 1
    end
  end
end

local opens = window.opens_at and string.format('%.0f', window.opens_at) or '-inf'
local closes = window.closes_at and string.format('%.0f', window.closes_at) or '+inf'
move(COUNTING, OUTSIDE, 'excluded', '-inf', '(' .. opens)
move(COUNTING, OUTSIDE, 'excluded', closes, '+inf')
move(OUTSIDE, COUNTING, 'included', opens, '(' .. closes)
local board = given.problem .. ':' .. given.device
if moved.all > 0 then moving(board) else redis.call('HDEL', key('settling'), board) end
return {moved.all, moved.included, moved.excluded}
"""
)
SETTLED_AT_ONCE = 500
"""Redis does nothing else meanwhile: 500 took some 60 ms on two busy cores."""
QUIET_MS = 10_000
"""Whoever moves results and has not for so long is gone: a step is answered in a third of it."""


class Moved(NamedTuple):
    """How many results a change of a window let count, and had count no more."""

    included: int
    excluded: int


class Contest:
    """The switches of one queue. Raises `QueueUnavailable` while Redis does not answer."""

    def __init__(self, store: Store) -> None:
        """Switch where the queue is."""
        self._store = store

    async def accept(self, jobs: bool) -> None:
        """Accept jobs from now on, or refuse them, by whatever road they come."""
        await self._store.run(_INTAKE, open=jobs)

    async def check_open(self) -> None:
        """Let a job pass.

        Raises:
            IntakeStopped: no job is accepted now.

        """
        if await self._store.run(_STOPPED):
            raise IntakeStopped("no jobs are accepted now: an organiser has stopped the intake")

    async def show(self, problem: str, shown: bool) -> None:
        """Show the board of a problem in the contest, or hide it. Results stay either way."""
        await self._store.run(_BOARD, problem=problem, open=shown)

    async def hidden(self) -> AbstractSet[str]:
        """Return the problems whose boards are hidden."""
        return {name.decode() for name in await self._store.run(_CLOSED)}

    async def set_window(self, window: BoardWindow, by: str) -> tuple[BoardWindow, Moved]:
        """Have a board take what is sent in a window, and return that, in whole milliseconds.

        What was sent before counts by the new window too, as each entry of the feed then tells.
        """
        board, row = f"{window.problem}:{window.device}", row_of(window)
        await self._store.run(_CHANGE, board=board, window=row, by=by)
        moved = await self._settle(window.problem, window.device, by)
        return window_from(board.encode(), row.encode()), moved

    async def unset_window(self, problem: str, device: str, by: str) -> Moved | None:
        """Have a board take what is sent, and was, at any time; None where it did."""
        there = await self._store.run(_CHANGE, board=f"{problem}:{device}", by=by)
        moved = await self._settle(problem, device, by)
        return moved if there else None

    async def windows(self) -> Sequence[BoardWindow]:
        """Return the windows there are, by problem and device."""
        flat = await self._store.run(_WINDOWS)
        rows = sorted(zip(flat[::2], flat[1::2], strict=True))
        return [window_from(board, row) for board, row in rows]

    async def go_on(self) -> Mapping[str, Moved]:
        """Move what is left where whoever changed a window is gone; return what moved, by board."""
        left = await self._store.run(_LEFT, quiet_ms=QUIET_MS)
        moved = {}
        for board, by in ((board.decode(), by.decode()) for board, by in left):
            problem, _, device = board.partition(":")
            moved[board] = await self._settle(problem, device, by)
        return moved

    async def _settle(self, problem: str, device: str, by: str) -> Moved:
        """Let every result count or not by the window as it is.

        A step at a time, and whoever does not come to the end leaves it to `go_on`.

        Nothing is forgotten here, so of an owner more results may count than are kept, until the
        next one is entered.
        """
        board = {"problem": problem, "device": device, "by": by}
        moved = Moved(0, 0)
        while True:
            looked_at, *more = await self._store.run(_SETTLE, **board, most=SETTLED_AT_ONCE)
            if not looked_at:
                return moved
            moved = Moved(moved.included + more[0], moved.excluded + more[1])
