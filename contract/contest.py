"""What an organiser opens and closes: the whole intake, the boards of a contest, and their windows.

A board takes ranked jobs that were sent in its window: from its opening on, and before its
deadline, by the clock of the queue. When a job is judged does not matter. A submit that no board
takes is refused (SUBMIT); of one that may run on several devices, the board of the one it ran on
decides once it has run (RANKING), by the window as it is then.

Keys, under the prefix
    stopped     there while no job is accepted
    closed      set: problems whose boards are hidden
    windows     hash: a window as JSON, times in ms, by PROBLEM:DEVICE
"""

import json
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta

from pydantic import BaseModel, ConfigDict

from contract.errors import IntakeStopped, OutsideWindow
from contract.prelude import PRELUDE
from contract.records import time_from
from contract.store import Store

_EPOCH = datetime.fromtimestamp(0, UTC)
WINDOWS = """
local function within_window(problem, device, at)
  local row = redis.call('HGET', key('windows'), problem .. ':' .. device)
  local window = row and cjson.decode(row) or {}
  return at >= (window.opens_at or 0) and at < (window.closes_at or math.huge), row
end

-- The boards that a ranked job may enter: those of the live workers that take it, else the one of
-- the device that it asks for.
local function boards_of(line)
  local boards, found = {}, false
  for _, id in ipairs(redis.call('ZRANGE', key('workers'), 0, -1)) do
    local info = redis.call('GET', key('worker', id))
    local worker = info and cjson.decode(info)
    for _, device in ipairs(worker and worker.ranked and worker.serves or {}) do
      if line == 'ranked/' .. device then boards[worker.device], found = true, true end
    end
  end
  if not found then boards[string.sub(line, 8)] = true end
  return boards
end

-- The windows that keep a ranked job out; nil where a board takes it.
local function kept_out(problem, line)
  if redis.call('EXISTS', key('windows')) == 0 then return nil end
  local windows = {}
  for device in pairs(boards_of(line)) do
    local takes, row = within_window(problem, device, now)
    if takes then return nil end
    windows[#windows + 1] = {device, row}
  end
  return windows
end
"""
"""Follows the prelude in a script."""
_INTAKE = (
    PRELUDE
    + """
if given.open then redis.call('DEL', key('stopped')) else redis.call('SET', key('stopped'), 1) end
"""
)
_STOPPED = PRELUDE + "return redis.call('EXISTS', key('stopped'))"
_BOARD = PRELUDE + "redis.call(given.open and 'SREM' or 'SADD', key('closed'), given.problem)"
_CLOSED = PRELUDE + "return redis.call('SMEMBERS', key('closed'))"
_OPEN_FOR = PRELUDE + "redis.call('HSET', key('windows'), given.board, given.window)"
_ALWAYS = PRELUDE + "return redis.call('HDEL', key('windows'), given.board)"
_WINDOWS = PRELUDE + "return redis.call('HGETALL', key('windows'))"


class Window(BaseModel):
    """When a board takes ranked jobs, by when they are sent."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    opens_at: datetime | None = None
    """From then on; null where it always was open."""
    closes_at: datetime | None = None
    """The deadline: before, and not at it; null where there is none."""

    def __str__(self) -> str:
        """Say it in words."""
        bounds = (("from", self.opens_at), ("until", self.closes_at))
        return " ".join(f"{word} {moment(at)}" for word, at in bounds if at)


class BoardWindow(Window):
    """The window of one board."""

    problem: str
    device: str


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

    async def set_window(self, window: BoardWindow) -> BoardWindow:
        """Have a board take what is sent in a window, and return that, in whole milliseconds.

        What stands on the board stays there.
        """
        board = f"{window.problem}:{window.device}"
        row = json.dumps(
            {
                name: (at - _EPOCH) // timedelta(milliseconds=1)
                for name in Window.model_fields
                if (at := getattr(window, name)) is not None
            }
        )
        await self._store.run(_OPEN_FOR, board=board, window=row)
        return window_from(board.encode(), row.encode())

    async def unset_window(self, problem: str, device: str) -> bool:
        """Have a board take what is sent at any time; false where it did."""
        return bool(await self._store.run(_ALWAYS, board=f"{problem}:{device}"))

    async def windows(self) -> Sequence[BoardWindow]:
        """Return the windows there are, by problem and device."""
        flat = await self._store.run(_WINDOWS)
        rows = sorted(zip(flat[::2], flat[1::2], strict=True))
        return [window_from(board, row) for board, row in rows]


def outside(problem: str, at_ms: int, kept: Sequence[tuple[bytes, bytes]]) -> OutsideWindow:
    """Return the refusal of a job that no board takes at a time; `kept` has device and window."""
    windows = [window_from(f"{problem}:{device.decode()}".encode(), row) for device, row in kept]
    said = "; ".join(f"on {each.device} {each}" for each in windows)
    return OutsideWindow(
        f"the leaderboard of {problem} takes ranked jobs {said}; now it is "
        f"{moment(time_from(str(at_ms)))}",
        [each.model_dump(mode="json") for each in windows],
    )


def window_from(board: bytes, row: bytes) -> BoardWindow:
    """Return the window that is kept of a board, PROBLEM:DEVICE."""
    problem, _, device = board.decode().partition(":")
    times = {name: time_from(str(ms)) for name, ms in json.loads(row).items()}
    return BoardWindow(problem=problem, device=device, **times)


def moment(at: datetime) -> str:
    """Write a time in UTC as RFC 3339 has it, without a fraction that is zero."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
