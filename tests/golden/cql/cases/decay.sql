-- average
SELECT AVG(price) FROM trades [DECAY 5 MINUTES] EVERY 1 MINUTE;
-- plan:
--   q: avg(price) from trades [decay 5 min], every 1 min, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 1 min               owed exact
--     Aggregate avg(price)           spends 0, shard 1
--       Window decay 5 min           spends 0, one fading sum a group, not shared
--         Scan trades (ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: rounded sums depend on the order of all rows
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- count and sum
SELECT COUNT(*) AS n, SUM(size) AS total FROM trades [DECAY 5 MINUTES] EVERY 1 MINUTE;
-- plan:
--   q.n: count(*) from trades [decay 5 min], every 1 min, exact
--   q.total: sum(size) from trades [decay 5 min], every 1 min, exact
-- explain:
--   q.n version 1, running, since epoch 2
--   Answer every 1 min        owed exact
--     Aggregate count(*)      spends 0, shard 1
--       Window decay 5 min    spends 0, one fading sum a group, not shared
--         Scan trades (ts)    files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: rounded sums depend on the order of all rows
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate
--
--   q.total version 1, running, since epoch 2
--   Answer every 1 min              owed exact
--     Aggregate sum(size)           spends 0, shard 3
--       Window decay 5 min          spends 0, one fading sum a group, not shared
--         Scan trades (ts, size)    files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: rounded sums depend on the order of all rows
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- deviation by group
SELECT sym, STDDEV(price) AS s FROM trades [DECAY 1 HOUR] GROUP BY sym EVERY 1 MINUTE;
-- plan:
--   q: stddev(price) from trades [decay 1 h] group by sym, every 1 min, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 1 min                    owed exact
--     Aggregate stddev(price) by sym      spends 0, groups over 4 shards
--       Window decay 1 h                  spends 0, one fading sum a group, not shared
--         Scan trades (ts, sym, price)    files, tick 1 s, late rows dropped
--   rows of trades: hashed by sym
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- variance with a condition
SELECT VAR(price) FROM trades [DECAY 1 HOUR] WHERE buy EVERY 1 MINUTE;
-- plan:
--   q: var(price) from trades [decay 1 h] where buy, every 1 min, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 1 min                      owed exact
--     Aggregate var(price)                  spends 0, shard 3
--       Window decay 1 h                    spends 0, one fading sum a group, not shared
--         Where buy                         spends 0
--           Scan trades (ts, buy, price)    files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: rounded sums depend on the order of all rows
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- a weight beside the decay
SELECT AVG(price WEIGHT size) FROM trades [DECAY 1 HOUR] EVERY 1 MINUTE;
-- plan:
--   q: avg(price weighted by size) from trades [decay 1 h], every 1 min, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 1 min                         owed exact
--     Aggregate avg(price weighted by size)    spends 0, shard 0
--       Window decay 1 h                       spends 0, one fading sum a group, not shared
--         Scan trades (ts, price, size)        files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: rounded sums depend on the order of all rows
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- a filter of the aggregate
SELECT COUNT(*) FILTER (WHERE buy) FROM trades [DECAY 1 HOUR] EVERY 1 MINUTE;
-- plan:
--   q: count(*) from trades [decay 1 h] where buy, every 1 min, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 1 min               owed exact
--     Aggregate count(*)             spends 0, shard 0
--       Window decay 1 h             spends 0, one fading sum a group, not shared
--         Where buy                  spends 0
--           Scan trades (ts, buy)    files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: rounded sums depend on the order of all rows
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate
