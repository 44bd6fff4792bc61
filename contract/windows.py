"""The windows of boards: when each takes ranked jobs, by when they are sent.

A board takes what was sent from its opening on, and before its deadline, by the clock of the queue.
When a job is judged does not matter. A submit that no board takes is refused (SUBMIT); of one that
may run on several devices, the board of the one it ran on decides once it has run (RANKING). A
window that is changed is held against all that was entered before (contest.py).

    windows     hash under the prefix: a window as JSON, times in ms, by PROBLEM:DEVICE
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from pydantic import BaseModel, ConfigDict

from contract.errors import OutsideWindow
from contract.records import time_from

_EPOCH = datetime.fromtimestamp(0, UTC)
WINDOWS = """
local function window_of(problem, device)
  local row = redis.call('HGET', key('windows'), problem .. ':' .. device)
  return row and cjson.decode(row) or {}, row
end

local function within(window, at)
  return at >= (window.opens_at or 0) and at < (window.closes_at or math.huge)
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
    local window, row = window_of(problem, device)
    if within(window, now) then return nil end
    windows[#windows + 1] = {device, row}
  end
  return windows
end
"""
"""Follows the prelude in a script."""


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


def row_of(window: Window) -> str:
    """Return a window as it is kept, in whole milliseconds."""
    return json.dumps(
        {
            name: (at - _EPOCH) // timedelta(milliseconds=1)
            for name in Window.model_fields
            if (at := getattr(window, name)) is not None
        }
    )


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
