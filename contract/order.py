"""Who is next: the offset of each class of jobs, in virtual rounds.

A job's score is `max(V, L) + 1 + offset`, and the lowest score of a device is claimed first, ties
by job number. `V` is the highest score claimed from that device so far, `L` the score of the
owner's last job of the same class there. So the jobs of one class and owner stand `1 + offset`
apart, however many there are, and a job of somebody else falls between the first two of them: a
flood delays another owner's job of the same class by one job at most. Within an owner a short job
does not wait for the long ones.

Nobody starves: a score never changes, every later submission scores more than `V`, and `V` rises
with every claim of one. A job put back keeps its score, so it is next again; one that failed and is
tried again has a new one, as there may be many of them, and scores of long ago mean nothing now.

A worker that serves several devices compares `score - V - passed` of the heads, where `passed`
counts how often that device's jobs have been passed over since one was claimed. Without that count
a steady stream of short jobs for one device would hold up a long job for another for ever.
"""

from collections.abc import Mapping
from types import MappingProxyType

from contract.submission import Mode

CLASS_OFFSETS: Mapping[Mode, int] = MappingProxyType(
    {
        **dict.fromkeys((Mode.TEST, Mode.COMPILE), 0),
        Mode.RANKED: 2,
        **dict.fromkeys((Mode.BENCHMARK, Mode.PROFILE, Mode.COMPARE), 4),
    }
)
"""Rounds a job of a mode stands behind a short one; modes with equal offsets are one class."""
SCORE = """
local function next_score(device, offset, owner)
  local last = key('round', device, offset, owner)
  local score = 1 + offset + math.max(tonumber(redis.call('HGET', key('clock', device), 'round')
    or 0), tonumber(redis.call('GET', last) or 0))
  redis.call('SET', last, score, 'PX', DAY_MS)
  return score
end
"""
"""Follows the prelude in a script."""
