"""The Lua scripts of the queue, one a transition. Only `contract.store` runs them."""

from contract.order import SCORE
from contract.prelude import PRELUDE
from contract.ranking import RANKING
from contract.refusals import ROOM
from contract.repeats import EARLIER
from contract.windows import WINDOWS

SUBMIT = (
    PRELUDE
    + WINDOWS
    + EARLIER
    + ROOM
    + SCORE
    + """
-- The client chose the id, so a command repeated after a lost connection finds its own job.
if redis.call('EXISTS', key('job', given.id)) == 1 then return {'accepted', record(given.id)} end
local before = earlier()
if before then return before end
local windows = given.fields.mode == 'ranked' and kept_out(given.fields.problem, given.device)
if windows then return {'outside', now, windows} end
local refused = no_room(given.owner)
if refused then return refused end

local number = redis.call('INCR', key('number'))
redis.call('HSET', key('job', given.id), 'number', number, 'created_at', now, 'attempts', 0,
  'score', next_score(given.device, given.offset, given.owner))
for name, value in pairs(given.fields) do redis.call('HSET', key('job', given.id), name, value) end
redis.call('SET', key('spec', given.id), ARGV[2])
for at, file in ipairs(given.files) do redis.call('SET', key(file, given.id), ARGV[2 + at]) end
charge_kept(given.owner)
redis.call('ZADD', key('jobs'), number, given.id)
redis.call('ZADD', key('jobs', given.owner), number, given.id)
if given.idempotency_key then
  redis.call('HSET', memory(), 'id', given.id, 'digest', given.digest)
  redis.call('PEXPIRE', memory(), given.idempotency_ms)
end
enqueue(given.id)
return {'accepted', record(given.id)}
"""
)

GET = (
    PRELUDE
    + """
local found = record(given.id)
return found and {found, redis.call('GET', key('verdict', given.id))}
"""
)

LOOK = (
    PRELUDE
    + """
local looks = {}
for index, id in ipairs(given.ids) do
  local found = record(id)
  looks[index] = found and {found, redis.call('HMGET', key('shown', id), 'verdict', 'review')}
end
return looks
"""
)

SOURCE = PRELUDE + "return redis.call('GET', key(given.file, given.id))"

PAGE = (
    PRELUDE
    + """
local index = given.owner and key('jobs', given.owner) or key('jobs')
local before, found, scanned = given.before and '(' .. given.before or '+inf', {}, 0
while scanned < given.scanned do
  local rows = redis.call('ZREVRANGEBYSCORE', index, before, '-inf', 'WITHSCORES', 'LIMIT', 0, 100)
  if #rows == 0 then return {false, found} end
  for row = 1, #rows, 2 do
    local at = job(rows[row], 'state', 'mode', 'device')
    local device = at[3] and string.match(at[3], '[^/]*$')
    if at[1] and (given.state or at[1]) == at[1] and (given.mode or at[2]) == at[2]
      and (given.device or device) == device then
      if #found == given.limit then return {string.sub(before, 2), found} end
      found[#found + 1] = record(rows[row])
    end
    before, scanned = '(' .. rows[row + 1], scanned + 1
  end
end
return {string.sub(before, 2), found}
"""
)

EVENTS = (
    PRELUDE
    + """
local state = job(given.id, 'state')[1]
return state and {state,
  redis.call('XRANGE', key('events', given.id), '(' .. given.after, '+', 'COUNT', 100)}
"""
)

CANCEL = (
    PRELUDE
    + """
local state = job(given.id, 'state')[1]
if state == 'queued' then dequeue(given.id) end
if state == 'queued' or state == 'running' then
  close(given.id, 'cancelled')
  ring('lease', given.id)
end
"""
)

HEARTBEAT = (
    PRELUDE
    + """
redis.call('SET', key('worker', given.worker), ARGV[2], 'PX', 3 * given.beat_ms)
redis.call('ZADD', key('workers'), now, given.worker)
for _, device in ipairs(given.serves) do redis.call('ZADD', key('served'), now, device) end
return redis.call('EXISTS', key('drain', given.worker))
"""
)

GOODBYE = (
    PRELUDE
    + """
redis.call('DEL', key('worker', given.worker), key('drain', given.worker))
redis.call('ZREM', key('workers'), given.worker)
"""
)

WORKERS = (
    PRELUDE
    + """
local live = {}
local rows = redis.call('ZRANGE', key('workers'), 0, -1, 'WITHSCORES')
for row = 1, #rows, 2 do
  local worker = redis.call('GET', key('worker', rows[row]))
  if worker then live[#live + 1] = {worker, rows[row + 1]} end
end
return live
"""
)

DEPTH = (
    PRELUDE
    + """
local depth = {}
for _, device in ipairs(redis.call('SMEMBERS', key('devices'))) do
  depth[#depth + 1] = {device, redis.call('ZCARD', key('queue', device))}
end
return depth
"""
)

CLAIM = (
    PRELUDE
    + """
local function lease(id)
  return {record(id), redis.call('GET', key('spec', id)), redis.call('GET', key('source', id)),
    redis.call('GET', key('other', id))}
end

-- A claim repeated after a lost connection gets the job that it got.
local earlier = redis.call('GET', key('claim', given.token))
if earlier then return not lost(earlier) and lease(earlier) end

local heads, best = {}, nil
for _, device in ipairs(given.serves) do
  local top = redis.call('ZRANGE', key('queue', device), 0, 0, 'WITHSCORES')
  if #top > 0 then
    local at = redis.call('HMGET', key('clock', device), 'round', 'passed')
    local head = {device = device, member = top[1], score = tonumber(top[2]),
      round = tonumber(at[1] or 0)}
    head.rank = head.score - head.round - tonumber(at[2] or 0)
    if not best or head.rank < best.rank
      or (head.rank == best.rank and head.member < best.member) then best = head end
    heads[#heads + 1] = head
  end
end
if not best then return false end
for _, head in ipairs(heads) do
  if head ~= best then redis.call('HINCRBY', key('clock', head.device), 'passed', 1) end
end
redis.call('HSET', key('clock', best.device), 'round', math.max(best.round, best.score),
  'passed', 0)

local id = string.sub(best.member, 14)
local at = job(id, 'mode', 'queued_at')
dequeue(id)
count('attempts')
took('queued', at[1], now - at[2])
redis.call('HINCRBY', key('job', id), 'attempts', 1)
redis.call('HSET', key('job', id), 'lease', given.token, 'worker', given.worker, 'started_at', now)
if given.on_gpu then redis.call('HSET', key('job', id), 'on_gpu', 1) end
redis.call('ZADD', key('leases'), now + given.lease_ms, id)
redis.call('SET', key('claim', given.token), id, 'PX', given.lease_ms)
enter(id, 'running')
return lease(id)
"""
)

RENEW = (
    PRELUDE
    + """
local how = lost(given.id)
if how then return how end
redis.call('ZADD', key('leases'), now + given.lease_ms, given.id)
count('renewals')
"""
)

HOLDS = PRELUDE + "return lost(given.id)"

PROGRESS = (
    PRELUDE
    + """
local how = lost(given.id)
if how then return how end
redis.call('HSET', key('job', given.id), 'progress', ARGV[2])
event(given.id, 'progress', ARGV[2])
"""
)

FINISH = (
    PRELUDE
    + RANKING
    + """
local at = job(given.id, 'state', 'lease', 'owner')
if at[1] == 'finished' and at[2] == given.token then return end
local how = lost(given.id)
if how then return how end
redis.call('SET', key('verdict', given.id), ARGV[2])
redis.call('HSET', key('job', given.id), 'headline', ARGV[3])
-- One with artifacts is read as a whole: their names have to become paths.
if not given.artifacts then
  redis.call('HSET', key('shown', given.id), 'verdict', ARGV[4], 'review', ARGV[5])
  redis.call('DEL', key('artifacts', given.id))
end
charge_kept(at[3])
for _, piece in ipairs(redis.call('HKEYS', key('artifacts', given.id))) do
  charge('kept', at[3], redis.call('HSTRLEN', key('artifacts', given.id), piece))
end
count('verdict:' .. given.outcome)
if given.ranked then rank(given.id, given.ranked) end
close(given.id, 'finished')
"""
)

RELEASE = (
    PRELUDE
    + """
if job(given.id, 'released')[1] == given.token then return end
local how = lost(given.id)
if how then return how end
redis.call('HSET', key('job', given.id), 'released', given.token)
if not given.count_attempt then
  redis.call('HINCRBY', key('job', given.id), 'attempts', -1)
  requeue(given.id)
elseif not used_up(given.id) then
  requeue(given.id)
else
  fail(given.id, given.reason, given.message)
end
"""
)

REAP = (
    PRELUDE
    + """
-- What is past its retention leaves the indices; its own keys expire by themselves.
for _, row in ipairs(redis.call('ZRANGEBYSCORE', key('ended'), '-inf', now - given.retention_ms,
    'LIMIT', 0, 100)) do
  local id, owner = string.match(row, '^(%x+):(.*)$')
  redis.call('ZREM', key('jobs'), id)
  redis.call('ZREM', key('jobs', owner), id)
  redis.call('ZREM', key('ended'), row)
end
redis.call('ZREMRANGEBYSCORE', key('workers'), '-inf', now - 3 * given.beat_ms)

-- Nobody having reaped for half a lease means that this server was away, and the workers with it:
-- their leases and beats are given one lease to be renewed.
local watched = redis.call('EXISTS', key('watched')) == 1
redis.call('SET', key('watched'), 1, 'PX', math.ceil(given.lease_ms / 2))
if not watched then redis.call('SET', key('quiet'), 1, 'PX', given.lease_ms) end
if redis.call('EXISTS', key('quiet')) == 1 then return {} end

local reaped = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', key('leases'), '-inf', now, 'LIMIT', 0, 100)) do
  local at = job(id, 'attempts', 'worker')
  count('leases_expired')
  if not used_up(id) then
    requeue(id)
  else
    fail(id, 'worker_lost', string.format(
      'worker %s stopped answering; %s attempts were made', at[2], at[1]))
  end
  ring('lease', id)
  reaped[#reaped + 1] = id
end

redis.call('ZREMRANGEBYSCORE', key('served'), '-inf', now - given.no_worker_ms)
for _, device in ipairs(redis.call('SMEMBERS', key('devices'))) do
  if not redis.call('ZSCORE', key('served'), device) then
    for _, row in ipairs(redis.call('ZRANGE', key('queue', device), 0, 999)) do
      local id = string.sub(row, 14)
      if now - tonumber(job(id, 'queued_at')[1]) >= given.no_worker_ms then
        dequeue(id)
        local mode, name = string.match(device, '^(%l+)/(.*)$')
        local words = {
          ranked = 'no live worker with a GPU and a sandbox fit for ranked runs',
          profile = 'no live worker with a GPU',
          compare = 'no live worker with a GPU'}
        fail(id, 'no_worker', string.format('%s served device %s for %g s',
          words[mode] or 'no live worker', name or device, given.no_worker_ms / 1000))
        reaped[#reaped + 1] = id
      end
    end
  end
end
return reaped
"""
)
