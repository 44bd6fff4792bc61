"""What every Lua script starts with: arguments, clock, key names, and the steps of transitions.

A script is the prelude and a body. ARGV[1] is JSON with the settings and the named arguments
(`given`), further ARGV are blobs. Key names are made in scripts and nowhere else, from the prefix;
they are not declared in KEYS, so this needs one server, not a cluster. `now` is the server's clock
in ms. EVAL only, as Redis 6.2 has no FUNCTION.

Keys, all under the prefix
    job:ID                hash: state and all that is small     spec: source: verdict:ID  the large
    shown:ID              hash: verdict as it is looked at      other:ID        source of B
    events:ID             stream: states and progress           number          counter of jobs
    queue:DEVICE          zset: who is next (order.py)          devices         those with a queue
    line:DEVICE:MODE      zset: who waits, by creation time     waiting         hash: count by owner
    clock:DEVICE          hash: highest score claimed, passed   round:...       owner's last score
    leases                zset: running jobs by lease end       claim:TOKEN     what a claim got
    jobs jobs:OWNER ended zsets: indices for lists              worker:ID workers served  who lives
    idempotency:OWNER:KEY hash: job and digest                  watched quiet   may one reap?
    counters              hash: see operations.py               spent:OWNER     ms on GPUs by minute
    keys key:ID secrets   see keys.py                           kept:OWNER      bytes by minute
    drain:WORKER          asked to drain                        sessions:KEY    zset: digests by age
    artifacts:ID          see artifacts.py                     session:DIGEST  see sessions.py
    stopped closed settling see contest.py                      invites         see invites.py
    windows               see windows.py
    callbacks posts       see deliveries.py                     delivery:ID     hash: attempts
    boards standing: results: outside: history: sent: result:   see ranking.py
    ranked ranked_number webhook                                see ranking.py, ranked_feed.py
    rate...               see quota.py, of a library            bell            channel: see bell.py
    Keys of a job have no TTL while it is queued or running, and the retention from its end on.
"""

DURATION_BUCKETS_S = (0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)
"""Upper ends of the buckets in which durations are counted; there is one more without end."""

_LUA_BUCKETS = ", ".join(map(str, DURATION_BUCKETS_S))
PRELUDE = (
    f"local DURATION_BUCKETS_S = {{{_LUA_BUCKETS}}}"
    + """
local given = cjson.decode(ARGV[1])
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local MINUTE_MS, HOUR_MS, DAY_MS = 60000, 3600000, 86400000

local function key(...) return table.concat({given.prefix, ...}, ':') end

local function ring(...) redis.call('PUBLISH', key('bell'), table.concat({...}, ':')) end

local function event(id, kind, data)
  redis.call('XADD', key('events', id), 'MAXLEN', '~', given.events_kept, '*',
    'type', kind, 'data', data)
  ring('event', id)
end

local function enter(id, state)
  redis.call('HSET', key('job', id), 'state', state)
  event(id, 'state', cjson.encode({state = state}))
end

local function job(id, ...) return redis.call('HMGET', key('job', id), ...) end

-- All keys of a job: they go together.
local KINDS = {'job', 'spec', 'source', 'other', 'verdict', 'shown', 'artifacts', 'events'}

local function member(number, id) return string.format('%012d:%s', tonumber(number), id) end

-- Counters that outlive every process; the service shows them.
local function count(name) redis.call('HINCRBY', key('counters'), name, 1) end

local function took(stage, mode, ms)
  local bucket = 'inf'
  for _, limit_s in ipairs(DURATION_BUCKETS_S) do
    if ms <= 1000 * limit_s then bucket = tostring(limit_s) break end
  end
  count('took:' .. stage .. ':' .. mode .. ':' .. bucket)
  redis.call('HINCRBY', key('counters'), 'took_ms:' .. stage .. ':' .. mode, ms)
  local recent = 'recent_ms:' .. stage .. ':' .. mode
  local before = tonumber(redis.call('HGET', key('counters'), recent) or ms)
  redis.call('HSET', key('counters'), recent, math.floor(0.8 * before + 0.2 * ms))
end

-- What an owner used of something, by the minute, for an hour.
local function charge(kind, owner, amount)
  local used, minute = key(kind, owner), math.floor(now / MINUTE_MS)
  redis.call('HINCRBY', used, minute, amount)
  for _, each in ipairs(redis.call('HKEYS', used)) do
    if tonumber(each) <= minute - 60 then redis.call('HDEL', used, each) end
  end
  redis.call('PEXPIRE', used, HOUR_MS)
end

-- What came with a script stays as long as its job.
local function charge_kept(owner)
  local bytes = 0
  for index = 2, #ARGV do bytes = bytes + #ARGV[index] end
  charge('kept', owner, bytes)
end

-- What a reader gets of a job: its fields, and its place if it waits.
local function record(id)
  local fields = redis.call('HGETALL', key('job', id))
  if #fields == 0 then return false end
  local at = job(id, 'state', 'device', 'number')
  local rank = at[1] == 'queued' and redis.call('ZRANK', key('queue', at[2]), member(at[3], id))
  return {fields, rank and rank + 1}
end

local function enqueue(id)
  local at = job(id, 'device', 'number', 'score', 'mode', 'created_at', 'owner')
  redis.call('ZADD', key('queue', at[1]), at[3], member(at[2], id))
  redis.call('SADD', key('devices'), at[1])
  redis.call('HSETNX', key('clock', at[1]), 'round', 0)
  redis.call('PERSIST', key('clock', at[1]))
  redis.call('HSET', key('job', id), 'queued_at', now)
  redis.call('ZADD', key('line', at[1], at[4]), at[5], id)
  redis.call('HINCRBY', key('waiting'), at[6], 1)
  enter(id, 'queued')
  ring('device', at[1])
end

local function dequeue(id)
  local at = job(id, 'device', 'number', 'mode', 'owner')
  redis.call('ZREM', key('queue', at[1]), member(at[2], id))
  redis.call('ZREM', key('line', at[1], at[3]), id)
  if redis.call('HINCRBY', key('waiting'), at[4], -1) <= 0 then
    redis.call('HDEL', key('waiting'), at[4])
  end
  if redis.call('EXISTS', key('queue', at[1])) == 0 then
    redis.call('SREM', key('devices'), at[1])
    redis.call('PEXPIRE', key('clock', at[1]), DAY_MS)
  end
end

local function requeue(id)
  redis.call('ZREM', key('leases'), id)
  redis.call('HDEL', key('job', id), 'lease', 'worker', 'started_at', 'progress', 'on_gpu')
  count('requeued')
  enqueue(id)
end

local function close(id, state)
  local at = job(id, 'state', 'owner', 'mode', 'started_at', 'on_gpu', 'callback_url')
  if at[1] == 'running' then
    took('running', at[3], now - at[4])
    -- A fault of ours costs nobody anything.
    if at[5] and state ~= 'failed' then charge('spent', at[2], now - at[4]) end
  end
  count('ended:' .. state)
  redis.call('ZREM', key('leases'), id)
  redis.call('HSET', key('job', id), 'finished_at', now)
  enter(id, state)
  redis.call('ZADD', key('ended'), now, id .. ':' .. at[2])
  for _, kind in ipairs(KINDS) do redis.call('PEXPIRE', key(kind, id), given.retention_ms) end
  if at[6] then redis.call('ZADD', key('callbacks'), now, id) end
  ring('ended', id)
end

-- Whether a job had all its attempts; retries.py gives it as many again.
local function used_up(id)
  local at = job(id, 'attempts', 'attempts_before')
  return at[1] - (at[2] or 0) >= given.max_attempts
end

local function fail(id, reason, message)
  count('failed:' .. reason)
  redis.call('HSET', key('job', id), 'error', cjson.encode({reason = reason, message = message}))
  close(id, 'failed')
end

-- Whether a lease still holds: nil if it does, else how it was lost.
local function lost(id)
  local at = job(id, 'state', 'lease')
  if at[1] == 'running' and at[2] == given.token then return nil end
  return at[1] == 'cancelled' and 'cancelled' or 'lost'
end
"""
)
