"""What every Lua script starts with: arguments, clock, key names, and the steps of transitions.

A script is the prelude and a body. ARGV[1] is JSON with the settings and the named arguments
(`given`), further ARGV are blobs. Key names are made in scripts and nowhere else, from the prefix;
they are not declared in KEYS, so this needs one server, not a cluster. `now` is the server's clock
in ms. EVAL only, as Redis 6.2 has no FUNCTION.
"""

PRELUDE = """
local given = cjson.decode(ARGV[1])
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local DAY_MS = 86400000

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

local function member(number, id) return string.format('%012d:%s', tonumber(number), id) end

-- What a reader gets of a job: its fields, and its place if it waits.
local function record(id)
  local fields = redis.call('HGETALL', key('job', id))
  if #fields == 0 then return false end
  local at = job(id, 'state', 'device', 'number')
  local rank = at[1] == 'queued' and redis.call('ZRANK', key('queue', at[2]), member(at[3], id))
  return {fields, rank and rank + 1}
end

local function enqueue(id)
  local at = job(id, 'device', 'number', 'score')
  redis.call('ZADD', key('queue', at[1]), at[3], member(at[2], id))
  redis.call('SADD', key('devices'), at[1])
  redis.call('HSETNX', key('clock', at[1]), 'round', 0)
  redis.call('PERSIST', key('clock', at[1]))
  redis.call('HSET', key('job', id), 'queued_at', now)
  enter(id, 'queued')
  ring('device', at[1])
end

local function dequeue(id)
  local at = job(id, 'device', 'number')
  redis.call('ZREM', key('queue', at[1]), member(at[2], id))
  if redis.call('EXISTS', key('queue', at[1])) == 0 then
    redis.call('SREM', key('devices'), at[1])
    redis.call('PEXPIRE', key('clock', at[1]), DAY_MS)
  end
end

local function requeue(id)
  redis.call('ZREM', key('leases'), id)
  redis.call('HDEL', key('job', id), 'lease', 'worker', 'started_at', 'progress')
  enqueue(id)
end

local function close(id, state)
  redis.call('ZREM', key('leases'), id)
  redis.call('HSET', key('job', id), 'finished_at', now)
  enter(id, state)
  redis.call('ZADD', key('ended'), now, id .. ':' .. job(id, 'owner')[1])
  for _, kind in ipairs({'job', 'spec', 'source', 'verdict', 'events'}) do
    redis.call('PEXPIRE', key(kind, id), given.retention_ms)
  end
  ring('ended', id)
end

local function fail(id, reason, message)
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
