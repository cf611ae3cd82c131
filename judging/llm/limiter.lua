-- One exchange of one worker with the shared limiter of one endpoint. The arithmetic is LimitState's in limits.py.
-- The rate limits are RateLog's in rates.py.
-- KEYS  state (hash), held (hash worker -> slots), seen (zset worker -> time), hungry (hash worker -> waiting since),
--       rates (hash worker -> its log)
-- ARGV  worker, held, want, maximum, clean, limited, failed, stale, pause, epoch, known limit, share, lease,
--       requests and tokens per window, window (seconds), its parts, the worker's log, the most tokens of each request
-- Returns granted, limit, epoch, wait (text, seconds), in flight, workers, part, wait for the rate (text, seconds).
local DEBOUNCE, RATE, GRACE, FRESH, KEEP = 15, 10, 3, 1, 3600
local me = ARGV[1]
local held, want, maximum = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local clean, limited, failed, stale = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local pause, epoch_seen = tonumber(ARGV[9]), tonumber(ARGV[10])
local known_limit, share, lease = tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13])
local most_requests, most_tokens = tonumber(ARGV[14]), tonumber(ARGV[15])
local window, parts, log = tonumber(ARGV[16]), tonumber(ARGV[17]), ARGV[18]
local clock = redis.call('TIME')
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1e6

local names = {'limit', 'epoch', 'clean', 'answered', 'limited', 'decreased_at', 'limited_at', 'blocked_until',
  'rate_calls', 'rate_errors', 'rate_at', 'grace_until', 'rate_blocked_until'}
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

-- The rate limits: everybody's log of the window, and how many of the wanted requests still fit. After a flush nobody
-- is let go before all have written their logs again.
local part, rate_wait = math.floor(now * parts / window), 0
if most_requests > 0 or most_tokens > 0 then
  if log ~= '' then redis.call('HSET', KEYS[5], me, log) end
  local counted, numbers, requests, tokens = {}, {}, 0, 0
  local logs = redis.call('HGETALL', KEYS[5])
  for i = 1, #logs, 2 do
    local alive = false
    for number, n, used in string.gmatch(logs[i + 1], '(%d+):(%d+):(%d+)') do
      number, n, used = tonumber(number), tonumber(n), tonumber(used)
      if (number + 1 + parts) * window / parts > now then
        alive = true
        if not counted[number] then
          counted[number] = {0, 0}
          numbers[#numbers + 1] = number
        end
        counted[number] = {counted[number][1] + n, counted[number][2] + used}
        requests, tokens = requests + n, tokens + used
      end
    end
    if not alive then redis.call('HDEL', KEYS[5], logs[i]) end
  end
  local function over(n, used, more)
    return (most_requests > 0 and n >= most_requests) or (most_tokens > 0 and used > 0 and used + more > most_tokens)
  end
  local fits, taken, stopped = 0, 0, nil
  for more in string.gmatch(ARGV[19], '%d+') do
    more = tonumber(more)
    if fits >= granted then break end
    if now < state.grace_until or over(requests + fits, tokens + taken, more) then
      stopped = more
      break
    end
    fits, taken = fits + 1, taken + more
  end
  granted = fits
  if fits > 0 then
    redis.call('HSET', KEYS[5], me, log .. ';' .. string.format('%d:%d:%d', part, fits, taken))
    if not counted[part] then
      counted[part] = {0, 0}
      numbers[#numbers + 1] = part
    end
    counted[part] = {counted[part][1] + fits, counted[part][2] + taken}
    requests, tokens = requests + fits, tokens + taken
  end
  if stopped then
    table.sort(numbers)
    rate_wait = math.max(0, state.grace_until - now)
    for _, number in ipairs(numbers) do
      requests, tokens = requests - counted[number][1], tokens - counted[number][2]
      if not over(requests, tokens, stopped) then
        rate_wait = math.max(rate_wait, (number + 1 + parts) * window / parts - now)
        break
      end
    end
  end
  if want > 0 then state.rate_blocked_until = stopped and now + rate_wait or 0 end
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
return {granted, state.limit, state.epoch, string.format('%.6f', wait), others_hold + held + granted, workers, part,
  string.format('%.6f', rate_wait)}
