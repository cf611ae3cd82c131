-- One exchange of one worker with the shared limiter of one endpoint. The arithmetic is LimitState's in limits.py.
-- KEYS  state (hash), held (hash worker -> slots), seen (zset worker -> time), hungry (hash worker -> waiting since)
-- ARGV  worker, held, want, maximum, clean, limited, failed, stale, pause, epoch, known limit, share, lease
-- Returns granted, limit, epoch, wait (text, seconds), in flight, workers.
local DEBOUNCE, RATE, GRACE, FRESH, KEEP = 15, 10, 3, 1, 3600
local me = ARGV[1]
local held, want, maximum = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local clean, limited, failed, stale = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local pause, epoch_seen = tonumber(ARGV[9]), tonumber(ARGV[10])
local known_limit, share, lease = tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13])
local clock = redis.call('TIME')
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1e6

local names = {'limit', 'epoch', 'clean', 'answered', 'limited', 'decreased_at', 'limited_at', 'blocked_until',
  'rate_calls', 'rate_errors', 'rate_at', 'grace_until'}
local read = redis.call('HMGET', KEYS[1], unpack(names))
local state = {}
for i, name in ipairs(names) do state[name] = tonumber(read[i] or '') or 0 end

-- A state that is gone although this worker knew one: Redis was flushed. Until every worker has said again what it
-- holds, nobody takes more than it had.
if state.limit == 0 then
  state.limit = maximum
  if known_limit > 0 then
    state.grace_until = now + GRACE
    state.epoch = epoch_seen
    state.limit = math.min(maximum, known_limit)
  end
end
if state.epoch == 0 or state.limit > maximum then state.limit = maximum end

-- Slots of workers that no longer report come back.
local dead = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now - lease)
for _, worker in ipairs(dead) do
  redis.call('ZREM', KEYS[3], worker)
  redis.call('HDEL', KEYS[2], worker)
  redis.call('HDEL', KEYS[4], worker)
end

-- Results.
if epoch_seen ~= state.epoch then stale, clean, limited = stale + clean + limited, 0, 0 end
if pause > 0 then state.blocked_until = math.max(state.blocked_until, now + pause) end
state.answered = state.answered + clean + limited
state.limited = state.limited + limited
if limited > 0 then
  state.limited_at, state.clean = now, 0
  local mostly_refused = state.answered >= state.limit and 2 * state.limited > state.answered
  if mostly_refused or now - state.decreased_at >= DEBOUNCE then
    state.limit = math.max(1, math.floor(state.limit / 2))
    state.epoch, state.decreased_at, state.answered, state.limited = state.epoch + 1, now, 0, 0
  end
elseif failed > 0 then
  state.clean = 0
else
  state.clean = state.clean + clean
  while state.clean >= state.limit and state.limit < maximum do
    state.clean, state.limit = state.clean - state.limit, state.limit + 1
  end
end
local fade = math.exp(-math.max(0, now - state.rate_at) / RATE)
state.rate_calls = state.rate_calls * fade + (clean + limited + failed + stale) / RATE
state.rate_errors = state.rate_errors * fade + (limited + failed) / RATE
state.rate_at = now

-- Who holds and who waits.
local holds, others_hold, workers = {}, 0, 1
local pairs_held = redis.call('HGETALL', KEYS[2])
for i = 1, #pairs_held, 2 do
  local worker, slots = pairs_held[i], tonumber(pairs_held[i + 1])
  holds[worker] = slots
  if worker ~= me then others_hold = others_hold + slots end
end
local waiting, active = {}, {[me] = true}
local pairs_hungry = redis.call('HGETALL', KEYS[4])
for i = 1, #pairs_hungry, 2 do waiting[pairs_hungry[i]] = tonumber(pairs_hungry[i + 1]) end
for worker, slots in pairs(holds) do if slots > 0 then active[worker] = true end end
for worker in pairs(waiting) do active[worker] = true end
workers = 0
for _ in pairs(active) do workers = workers + 1 end

-- Grant: what is free, less one slot for each worker that has waited longer with less than its share; while such a
-- worker waits, nobody goes beyond the fair share.
local wait = math.max(0, state.blocked_until - now)
local granted = 0
if wait == 0 and want > 0 then
  local fair = math.max(1, math.floor(state.limit / workers))
  local since = waiting[me] or now
  local older, others = 0, 0
  for worker, waits_since in pairs(waiting) do
    local last = tonumber(redis.call('ZSCORE', KEYS[3], worker) or '0')
    if worker ~= me and now - last < FRESH and (holds[worker] or 0) < fair then
      others = others + 1
      if waits_since < since then older = older + 1 end
    end
  end
  local room = state.limit - others_hold - held
  if others > 0 then room = math.min(room - older, fair - held) end
  if now < state.grace_until then room = math.min(room, share - held) end
  granted = math.max(0, math.min(want, room))
end
if granted >= want then
  redis.call('HDEL', KEYS[4], me)
elseif granted > 0 or not waiting[me] then
  redis.call('HSET', KEYS[4], me, string.format('%.6f', now))
end

redis.call('HSET', KEYS[2], me, held + granted)
redis.call('ZADD', KEYS[3], string.format('%.6f', now), me)
local write = {}
for _, name in ipairs(names) do
  write[#write + 1] = name
  write[#write + 1] = string.format('%.6f', state[name])
end
redis.call('HSET', KEYS[1], unpack(write))
for _, key in ipairs(KEYS) do redis.call('EXPIRE', key, KEEP) end
return {granted, state.limit, state.epoch, string.format('%.6f', wait), others_hold + held + granted, workers}
