"""What a ranked verdict is worth, and the steps of scripts that enter it.

The transition that finishes a job enters its result too, so no crash loses one or doubles it. Who
stands where follows from the results alone: of each owner the best that counts, the lower time
first, and of equal times the job that was sent first.

Keys, all under the prefix; all may stay for ever, and are bounded as QueueSettings says
    boards                              zset: PROBLEM:DEVICE
    standing:PROBLEM:DEVICE             zset: the best result of each owner, by time
    results:PROBLEM:DEVICE:OWNER        zset: all results of an owner that count, by time
    history:PROBLEM:DEVICE:OWNER        zset: those and the disqualified ones, by job number
    result:ID                           hash: one result
    ranked ranked_number                see ranked_feed.py
    webhook                             hash: url and name of who wants each entry of the feed
"""

import math
from collections.abc import Iterator, Mapping

from contract.contest import WINDOWS
from contract.device import CPU
from contract.submission import Mode, Submission, official_cases, problem_named
from contract.verdict import Passed, Verdict

RANKING = (
    WINDOWS
    + """
local function board(kind, at) return key(kind, at.problem, at.device, at.owner) end

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
    redis.call('ZADD', key('callbacks'), now, 'ranked-' .. number)
  end
end

-- Change what counts of an owner, and let its best stand on the board.
local function stand(at, change)
  local results, standing = board('results', at), key('standing', at.problem, at.device)
  local before = redis.call('ZRANGE', results, 0, 0)[1]
  change(results)
  local after = redis.call('ZRANGE', results, 0, 0, 'WITHSCORES')
  if before and before ~= after[1] then redis.call('ZREM', standing, before) end
  if after[1] then redis.call('ZADD', standing, after[2], after[1]) end
end

local function forget(at, id)
  redis.call('ZREM', board('history', at), id)
  redis.call('DEL', key('result', id))
end

local function rank(id, found)
  local sent = job(id, 'owner', 'number', 'created_at')
  local at = {problem = found.problem, device = found.device, owner = sent[1]}
  local slowest = {}
  if not found.why_not and not within_window(at.problem, at.device, tonumber(sent[3])) then
    found.why_not = 'it was sent outside of the window of the board'
  end
  if not found.why_not then
    redis.call('HSET', key('result', id), 'job', id, 'problem', at.problem, 'device', at.device,
      'owner', at.owner, 'geomean_us', found.geomean_us, 'number', sent[2],
      'created_at', sent[3], 'finished_at', now)
    redis.call('ZADD', key('boards'), 0, at.problem .. ':' .. at.device)
    redis.call('ZADD', board('history', at), sent[2], id)
    stand(at, function(results)
      redis.call('ZADD', results, found.geomean_us, member(sent[2], id))
      -- The slowest are forgotten first.
      slowest = redis.call('ZRANGE', results, given.results_kept, -1)
      for _, row in ipairs(slowest) do redis.call('ZREM', results, row) end
    end)
  end
  if found.why_not and found.outcome == 'passed' then
    redis.call('HSET', key('job', id), 'why_not', found.why_not)
  end
  at.job, at.job_number, at.created_at = id, sent[2], sent[3]
  at.outcome, at.geomean_us, at.why_not = found.outcome, found.geomean_us, found.why_not
  announce('verdict', at)
  for _, row in ipairs(slowest) do
    local gone = string.sub(row, 14)
    local was = redis.call('HMGET', key('result', gone), 'number', 'created_at', 'geomean_us')
    announce('deleted', {problem = at.problem, device = at.device, owner = at.owner, job = gone,
      job_number = was[1], created_at = was[2], geomean_us = was[3],
      reason = string.format('of one owner %d results are kept', given.results_kept)})
    forget(at, gone)
  end
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
