"""What a ranked verdict is worth, and the steps of scripts that enter it.

The transition that finishes a job enters its result too, so no crash loses one or doubles it. Who
stands where follows from the results and the window of the board as it is: of each owner the best
that counts, the lower time first, and of equal times the job that was sent first.

Keys, all under the prefix; all may stay for ever, and are bounded as QueueSettings says
    boards                              zset: PROBLEM:DEVICE
    standing:PROBLEM:DEVICE             zset: the best result of each owner, by time
    results:PROBLEM:DEVICE:OWNER        zset: all results of an owner that count, by time
    outside:PROBLEM:DEVICE:OWNER        zset: those that the window keeps out, by time
    history:PROBLEM:DEVICE:OWNER        zset: those and the disqualified ones, by job number
    sent:PROBLEM:DEVICE:KIND            zset: all of a board that its window takes (results), and
                                        all others (outside), by when they were sent
    result:ID                           hash: one result
    ranked ranked_number                see ranked_feed.py
    webhook                             hash: url and name of who wants each entry of the feed
"""

import math
from collections.abc import Iterator, Mapping

from contract.device import CPU
from contract.submission import Mode, Submission, official_cases, problem_named
from contract.verdict import Passed, Verdict
from contract.windows import WINDOWS

RANKING = (
    WINDOWS
    + """
local COUNTING, OUTSIDE = 'results', 'outside'
local SENT_OUTSIDE = 'it was sent outside of the window of the board'

local function board(kind, at) return key(kind, at.problem, at.device, at.owner) end
local function sent(at, kind) return key('sent', at.problem, at.device, kind) end

-- Lua's numbers lose digits on their way to text and JSON, so times are text throughout.
local function announce(kind, at)
  local number = string.format('%d', redis.call('INCR', key('ranked_number')))
  local entry = {'type', kind, 'at', now}
  for name, value in pairs(at) do
    entry[#entry + 1] = name
    entry[#entry + 1] = value
  end
  redis.call('XADD', key('ranked'), 'MAXLEN', '~', given.ranked_kept, number .. '-0',
    unpack(entry))
  if redis.call('EXISTS', key('webhook')) == 1 then
    redis.call('ZADD', key('posts'), now, 'ranked-' .. number)
  end
end

-- Change what counts of an owner, and let its best stand on the board.
local function stand(at, change)
  local results, standing = board(COUNTING, at), key('standing', at.problem, at.device)
  local before = redis.call('ZRANGE', results, 0, 0)[1]
  change(results)
  local after = redis.call('ZRANGE', results, 0, 0, 'WITHSCORES')
  if before and before ~= after[1] then redis.call('ZREM', standing, before) end
  if after[1] then redis.call('ZADD', standing, after[2], after[1]) end
end

-- Put a result among those that count or those outside of the window; without a kind in neither.
local function put(at, kind)
  local row = member(at.job_number, at.job)
  stand(at, function(results)
    redis.call('ZREM', results, row)
    redis.call('ZREM', board(OUTSIDE, at), row)
    if kind then redis.call('ZADD', board(kind, at), at.geomean_us, row) end
  end)
end

-- Note where the window puts a result: in the index, on itself, and on its job, which may be gone.
local function note(at, kind)
  redis.call('ZREM', sent(at, kind == COUNTING and OUTSIDE or COUNTING), at.job)
  redis.call('ZADD', sent(at, kind), at.created_at, at.job)
  for _, row in ipairs({key('result', at.job), key('job', at.job)}) do
    if kind == COUNTING then
      redis.call('HDEL', row, 'why_not')
    elseif redis.call('EXISTS', row) == 1 then
      redis.call('HSET', row, 'why_not', SENT_OUTSIDE)
    end
  end
end

-- A result as the feed tells it, when it was disqualified, and why it is out otherwise.
local function kept(id)
  local was = redis.call('HMGET', key('result', id), 'problem', 'device', 'owner', 'geomean_us',
    'created_at', 'number', 'disqualified_at', 'why_not')
  return was[1] and {job = id, problem = was[1], device = was[2], owner = was[3],
    geomean_us = was[4], created_at = was[5], job_number = was[6]}, was[7], was[8]
end

local function forget(at)
  put(at)
  redis.call('ZREM', board('history', at), at.job)
  for _, kind in ipairs({COUNTING, OUTSIDE}) do redis.call('ZREM', sent(at, kind), at.job) end
  redis.call('DEL', key('result', at.job))
end

-- The slowest of an owner are forgotten first.
local function trim(owner)
  for _, kind in ipairs({COUNTING, OUTSIDE}) do
    for _, row in ipairs(redis.call('ZRANGE', board(kind, owner), given.results_kept, -1)) do
      local at = kept(string.sub(row, 14))
      forget(at)
      at.reason = string.format('of one owner %d results are kept', given.results_kept)
      announce('deleted', at)
    end
  end
end

local function rank(id, found)
  local was = job(id, 'owner', 'number', 'created_at')
  local at = {job = id, owner = was[1], job_number = was[2], created_at = was[3],
    problem = found.problem, device = found.device, outcome = found.outcome,
    geomean_us = found.geomean_us, why_not = found.why_not}
  if at.why_not then
    if at.outcome == 'passed' then redis.call('HSET', key('job', id), 'why_not', at.why_not) end
    announce('verdict', at)
    return
  end
  local inside = within(window_of(at.problem, at.device), tonumber(at.created_at))
  redis.call('HSET', key('result', id), 'job', id, 'problem', at.problem, 'device', at.device,
    'owner', at.owner, 'geomean_us', at.geomean_us, 'number', at.job_number,
    'created_at', at.created_at, 'finished_at', now)
  redis.call('ZADD', key('boards'), 0, at.problem .. ':' .. at.device)
  redis.call('ZADD', board('history', at), at.job_number, id)
  put(at, inside and COUNTING or OUTSIDE)
  note(at, inside and COUNTING or OUTSIDE)
  at.why_not = not inside and SENT_OUTSIDE or nil
  announce('verdict', at)
  trim(at)
end
"""
)
"""Follows the prelude in a script."""


def found_in(submission: Submission, verdict: Verdict) -> Mapping[str, str] | None:
    """Return what FINISH is told of a ranked verdict, times as text; None of any other.

    `device` is where it ran, not what was asked for. `geomean_us` and `why_not` are left out where
    there is no time, and where the verdict counts.
    """
    if submission.mode is not Mode.RANKED:
        return None
    found = {
        "problem": submission.problem,
        "device": verdict.environment.device,
        "outcome": verdict.outcome,
        "geomean_us": None if verdict.score is None else repr(verdict.score.geomean_us),
        "why_not": why_not(submission, verdict),
    }
    return {name: value for name, value in found.items() if value is not None}


def why_not(submission: Submission, verdict: Verdict) -> str | None:
    """Return why a ranked verdict has no place on a leaderboard; None where it has."""
    return next((why for broken, why in _rules(submission, verdict) if broken), None)


def _rules(submission: Submission, verdict: Verdict) -> Iterator[tuple[bool, str]]:
    yield not isinstance(verdict, Passed), f"the outcome is {verdict.outcome}"
    cases = submission.cases
    yield any(case.seed is not None for case in cases), "its seeds were not secret"
    problem = problem_named(submission.problem)
    yield cases != official_cases(problem, Mode.RANKED), "its cases are not the official ones"
    yield not sum(problem.work(case).flops for case in cases), "there was nothing to compute"
    yield verdict.emulated or verdict.environment.device == CPU, "it was emulated"
    yield verdict.sandbox_level < 1, "it ran outside of a sandbox"
    score = verdict.score
    yield score is None or not 0 < score.geomean_us < math.inf, "it has no time"
