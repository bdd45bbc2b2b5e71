-- count
SELECT COUNT(*) FROM trades [RANGE 1 MINUTE];
-- plan:
--   q: count(*) from trades [range 1 min], on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change          owed exact
--     Aggregate count(*)      spends 0, shard 1
--       Window range 1 min    spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- count of values
SELECT COUNT(price) FROM trades [RANGE 1 MINUTE];
-- plan:
--   q: count(price) from trades [range 1 min], on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                 owed exact
--     Aggregate count(price)         spends 0, shard 1
--       Window range 1 min           spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- sum
SELECT SUM(size) FROM trades [RANGE 1 MINUTE];
-- plan:
--   q: sum(size) from trades [range 1 min], on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                owed exact
--     Aggregate sum(size)           spends 0, shard 0
--       Window range 1 min          spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts, size)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- average
SELECT AVG(price) FROM trades [RANGE 5 MINUTES SLIDE 1 MINUTE] EVERY 1 MINUTE;
-- plan:
--   q: avg(price) from trades [range 5 min slide 1 min], every 1 min, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 1 min                    owed exact
--     Aggregate avg(price)                spends 0, shard 0
--       Window range 5 min slide 1 min    spends 0, panes of 1 min, from history, not shared
--         Scan trades (ts, price)         files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- least and largest
SELECT MIN(price), MAX(price) FROM trades [RANGE 1 MINUTE];
-- plan:
--   q.MIN(price): min(price) from trades [range 1 min], on change, exact
--   q.MAX(price): max(price) from trades [range 1 min], on change, exact
-- explain:
--   q.MIN(price) version 1, running, since epoch 2
--   Answer on change                 owed exact
--     Aggregate min(price)           spends 0, shard 1
--       Window range 1 min           spends 0, panes of 1 s, from history, shared by 2 queries
--         Scan trades (ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate
--
--   q.MAX(price) version 1, running, since epoch 2
--   Answer on change                 owed exact
--     Aggregate max(price)           spends 0, shard 1
--       Window range 1 min           spends 0, panes of 1 s, from history, shared by 2 queries
--         Scan trades (ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- variance and deviation
SELECT VAR(price) AS v, STDDEV(price) AS s FROM trades [RANGE 1 MINUTE] EVERY 10 SECONDS;
-- plan:
--   q.v: var(price) from trades [range 1 min], every 10 s, exact
--   q.s: stddev(price) from trades [range 1 min], every 10 s, exact
-- explain:
--   q.v version 1, running, since epoch 2
--   Answer every 10 s                owed exact
--     Aggregate var(price)           spends 0, shard 2
--       Window range 1 min           spends 0, panes of 10 s, from history, shared by 2 queries
--         Scan trades (ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: rounded sums depend on the order of all rows
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate
--
--   q.s version 1, running, since epoch 2
--   Answer every 10 s                owed exact
--     Aggregate stddev(price)        spends 0, shard 2
--       Window range 1 min           spends 0, panes of 10 s, from history, shared by 2 queries
--         Scan trades (ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: rounded sums depend on the order of all rows
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- covariance and correlation
SELECT COVAR(price, size) AS c, CORR(price, size) AS r FROM trades [RANGE 1 MINUTE] EVERY 10 SECONDS;
-- plan:
--   q.c: covar(price, size) from trades [range 1 min], every 10 s, exact
--   q.r: corr(price, size) from trades [range 1 min], every 10 s, exact
-- explain:
--   q.c version 1, running, since epoch 2
--   Answer every 10 s                      owed exact
--     Aggregate covar(price, size)         spends 0, shard 1
--       Window range 1 min                 spends 0, panes of 10 s, from history, shared by 2 queries
--         Scan trades (ts, price, size)    files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: rounded sums depend on the order of all rows
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate
--
--   q.r version 1, running, since epoch 2
--   Answer every 10 s                      owed exact
--     Aggregate corr(price, size)          spends 0, shard 1
--       Window range 1 min                 spends 0, panes of 10 s, from history, shared by 2 queries
--         Scan trades (ts, price, size)    files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: rounded sums depend on the order of all rows
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- a weight
SELECT AVG(price WEIGHT size) AS vwap FROM trades [RANGE 1 MINUTE] EVERY 10 SECONDS;
-- plan:
--   q: avg(price weighted by size) from trades [range 1 min], every 10 s, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                          owed exact
--     Aggregate avg(price weighted by size)    spends 0, shard 3
--       Window range 1 min                     spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, price, size)        files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: rounded sums depend on the order of all rows
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- a filter of one aggregate
SELECT SUM(size) FILTER (WHERE buy) AS bought, SUM(size) AS all_of_it FROM trades [RANGE 1 MINUTE] EVERY 10 SECONDS;
-- plan:
--   q.bought: sum(size) from trades [range 1 min] where buy, every 10 s, exact
--   q.all_of_it: sum(size) from trades [range 1 min], every 10 s, exact
-- explain:
--   q.bought version 1, running, since epoch 2
--   Answer every 10 s                      owed exact
--     Aggregate sum(size)                  spends 0, shard 1
--       Window range 1 min                 spends 0, panes of 10 s, from history, not shared
--         Where buy                        spends 0
--           Scan trades (ts, buy, size)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate
--
--   q.all_of_it version 1, running, since epoch 2
--   Answer every 10 s               owed exact
--     Aggregate sum(size)           spends 0, shard 0
--       Window range 1 min          spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, size)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- an aggregate of an expression
SELECT SUM(price * size) AS worth FROM trades [RANGE 1 MINUTE] EVERY 10 SECONDS;
-- plan:
--   q: sum(price * size) from trades [range 1 min], every 10 s, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                      owed exact
--     Aggregate sum(price * size)          spends 0, shard 0
--       Window range 1 min                 spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, price, size)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- a condition
SELECT COUNT(*) FROM trades [RANGE 1 MINUTE] WHERE price > 10 AND sym = 'A';
-- plan:
--   q: count(*) from trades [range 1 min] where (price > 10) and (sym = 'A'), on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                            owed exact
--     Aggregate count(*)                        spends 0, shard 1
--       Window range 1 min                      spends 0, panes of 1 s, from history, not shared
--         Where (price > 10) and (sym = 'A')    spends 0
--           Scan trades (ts, price, sym)        files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- a condition that computes
SELECT COUNT(*) FROM trades [RANGE 1 MINUTE] WHERE price * size > 1000;
-- plan:
--   q: count(*) from trades [range 1 min] where price * size > 1000, on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                         owed exact
--     Aggregate count(*)                     spends 0, shard 0
--       Window range 1 min                   spends 0, panes of 1 s, from history, not shared
--         Where price * size > 1000          spends 0
--           Scan trades (ts, price, size)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- a condition on texts and nulls
SELECT COUNT(*) FROM trades [RANGE 1 MINUTE] WHERE sym IN ('A', 'B') AND price IS NOT NULL;
-- plan:
--   q: count(*) from trades [range 1 min] where (sym in ('A', 'B')) and (not (price is null)), on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                             owed exact
--     Aggregate count(*)                                         spends 0, shard 0
--       Window range 1 min                                       spends 0, panes of 1 s, from history, not shared
--         Where (sym in ('A', 'B')) and (not (price is null))    spends 0
--           Scan trades (ts, sym, price)                         files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- a condition on time
SELECT COUNT(*) FROM trades [RANGE 1 MINUTE] WHERE hour(ts) BETWEEN 9 AND 17;
-- plan:
--   q: count(*) from trades [range 1 min] where hour(ts) BETWEEN 9 AND 17, on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                         owed exact
--     Aggregate count(*)                     spends 0, shard 3
--       Window range 1 min                   spends 0, panes of 1 s, from history, not shared
--         Where hour(ts) BETWEEN 9 AND 17    spends 0
--           Scan trades (ts)                 files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- groups
SELECT sym, AVG(price) FROM trades [RANGE 1 MINUTE] GROUP BY sym EVERY 10 SECONDS;
-- plan:
--   q: avg(price) from trades [range 1 min] group by sym, every 10 s, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                     owed exact
--     Aggregate avg(price) by sym         spends 0, groups over 4 shards
--       Window range 1 min                spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, sym, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed by sym where they are read
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- groups without their key
SELECT AVG(price) FROM trades [RANGE 1 MINUTE] GROUP BY sym EVERY 10 SECONDS;
-- plan:
--   q: avg(price) from trades [range 1 min] group by sym, every 10 s, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                     owed exact
--     Aggregate avg(price) by sym         spends 0, groups over 4 shards
--       Window range 1 min                spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, sym, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed by sym where they are read
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- groups by a computed key
SELECT size % 10 AS last, COUNT(*) AS n FROM trades [RANGE 1 MINUTE] GROUP BY last EVERY 10 SECONDS;
-- plan:
--   q: count(*) from trades [range 1 min] group by size % 10, every 10 s, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                    owed exact
--     Aggregate count(*) by size % 10    spends 0, groups over 4 shards
--       Window range 1 min               spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, size)         files, tick 1 s, late rows dropped
--   rows of trades: summed by size % 10 where they are read
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- two keys
SELECT sym, buy, SUM(size) FROM trades [RANGE 1 MINUTE] GROUP BY sym, buy ON CLOSE;
-- plan:
--   q: sum(size) from trades [range 1 min] group by sym, buy, on close, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on close                           owed exact
--     Aggregate sum(size) by sym, buy         spends 0, groups over 4 shards
--       Window range 1 min                    spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts, sym, buy, size)    files, tick 1 s, late rows dropped
--   rows of trades: summed by sym, buy where they are read
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- latest values of all series
SELECT AVG(price) FROM trades [PARTITION BY sym ROWS 1];
-- plan:
--   q: avg(price) of all series of trades, on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                     owed exact
--     Latest avg(price) of all series    spends 0, shard 3 of 4, not shared
--       Scan trades (sym, ts, price)     files, tick 1 s, late rows dropped
--   rows of trades: sent to the shards whose queries list their series
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- latest values of some series
SELECT SUM(price) FROM trades [PARTITION BY sym ROWS 1] WHERE sym IN ('A', 'B');
-- plan:
--   q: sum(price) of 2 series of trades, on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                    owed exact
--     Latest sum(price) of 2 series     spends 0, shard 3 of 4, not shared
--       Scan trades (sym, ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: sent to the shards whose queries list their series
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- latest values of one series
SELECT MAX(price) FROM trades [PARTITION BY sym ROWS 1] WHERE sym = 'A' ON CHANGE OF 0.5;
-- plan:
--   q: max(price) of 1 series of trades, on change of 0.5, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change of 0.5             owed exact
--     Latest max(price) of 1 series     spends 0, shard 3 of 4, not shared
--       Scan trades (sym, ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: sent to the shards whose queries list their series
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- latest values with another condition
SELECT AVG(price) FROM trades [PARTITION BY sym ROWS 1] WHERE price > 10;
-- plan:
--   q: avg(price) from trades [partition by sym rows 1] where price > 10, on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                        owed exact
--     Aggregate avg(price)                  spends 0, shard 0
--       Where price > 10                    spends 0
--         Window partition by sym rows 1    spends 0, ring of 1 rows, not shared
--           Scan trades (ts, sym, price)    files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: the newest rows are those of the whole stream
--   error by cause: none
--   kept back 0 of the error: nothing here is approximate

-- newest rows
SELECT AVG(price) FROM trades [ROWS 100];
-- plan:
--   q: avg(price) from trades [rows 100], on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                 owed exact
--     Aggregate avg(price)           spends 0, shard 2
--       Window rows 100              spends 0, ring of 100 rows, not shared
--         Scan trades (ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: the newest rows are those of the whole stream
--   error by cause: none
--   kept back 0 of the error: nothing here is approximate

-- newest rows that pass
SELECT AVG(price) FROM trades [ROWS 100] WHERE size > 10;
-- plan:
--   q: avg(price) from trades [rows 100] where size > 10, on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                         owed exact
--     Aggregate avg(price)                   spends 0, shard 0
--       Where size > 10                      spends 0
--         Window rows 100                    spends 0, ring of 100 rows, not shared
--           Scan trades (ts, size, price)    files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: the newest rows are those of the whole stream
--   error by cause: none
--   kept back 0 of the error: nothing here is approximate

-- newest rows of each key
SELECT AVG(price) FROM trades [PARTITION BY sym ROWS 5];
-- plan:
--   q: avg(price) from trades [partition by sym rows 5], on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                      owed exact
--     Aggregate avg(price)                spends 0, shard 3
--       Window partition by sym rows 5    spends 0, ring of 5 rows, not shared
--         Scan trades (ts, sym, price)    files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: the newest rows are those of the whole stream
--   error by cause: none
--   kept back 0 of the error: nothing here is approximate

-- of this tick
SELECT COUNT(*) FROM trades [NOW];
-- plan:
--   q: count(*) from trades [now], on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change          owed exact
--     Aggregate count(*)      spends 0, shard 1
--       Window now            spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- since an instant
SELECT SUM(size) FROM trades [SINCE '2026-01-01'];
-- plan:
--   q: sum(size) from trades [since 2026-01-01T00:00:00Z], on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                         owed exact
--     Aggregate sum(size)                    spends 0, shard 1
--       Window since 2026-01-01T00:00:00Z    spends 0, one pane, not shared
--         Scan trades (ts, size)             files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- of all rows
SELECT COUNT(*), AVG(price) FROM trades;
-- plan:
--   q.COUNT(*): count(*) from trades [unbounded], on change, exact
--   q.AVG(price): avg(price) from trades [unbounded], on change, exact
-- explain:
--   q.COUNT(*) version 1, running, since epoch 2
--   Answer on change          owed exact
--     Aggregate count(*)      spends 0, shard 1
--       Window unbounded      spends 0, one pane, not shared
--         Scan trades (ts)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate
--
--   q.AVG(price) version 1, running, since epoch 2
--   Answer on change                 owed exact
--     Aggregate avg(price)           spends 0, shard 2
--       Window unbounded             spends 0, one pane, not shared
--         Scan trades (ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- of all rows by group
SELECT sym, COUNT(*) AS n FROM trades GROUP BY sym;
-- plan:
--   q: count(*) from trades [unbounded] group by sym, on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change               owed exact
--     Aggregate count(*) by sym    spends 0, groups over 4 shards
--       Window unbounded           spends 0, one pane, not shared
--         Scan trades (ts, sym)    files, tick 1 s, late rows dropped
--   rows of trades: summed by sym where they are read
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- of a named window
SELECT AVG(price) FROM trades [recent] EVERY 1 MINUTE;
-- plan:
--   q: avg(price) from trades [recent], every 1 min, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 1 min                             owed exact
--     Aggregate avg(price)                         spends 0, shard 0
--       Window range 5 min slide 1 min (recent)    spends 0, panes of 1 min, from history, not shared
--         Scan trades (ts, price)                  files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- on close of a named window
SELECT MAX(price) FROM trades [recent] ON CLOSE;
-- plan:
--   q: max(price) from trades [recent], on close, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on close                                owed exact
--     Aggregate max(price)                         spends 0, shard 0
--       Window range 5 min slide 1 min (recent)    spends 0, panes of 1 min, from history, not shared
--         Scan trades (ts, price)                  files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- of a window of rows by name
SELECT SUM(price) FROM trades [few];
-- plan:
--   q: sum(price) from trades [few], on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                 owed exact
--     Aggregate sum(price)           spends 0, shard 1
--       Window rows 10 (few)         spends 0, ring of 10 rows, not shared
--         Scan trades (ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: the newest rows are those of the whole stream
--   error by cause: none
--   kept back 0 of the error: nothing here is approximate

-- of a view
SELECT SUM(worth) FROM big [RANGE 1 MINUTE] EVERY 10 SECONDS;
-- plan:
--   q: sum(price * size) from trades [range 1 min] where size > 100, every 10 s, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                        owed exact
--     Aggregate sum(price * size)            spends 0, shard 3
--       Window range 1 min                   spends 0, panes of 10 s, from history, not shared
--         Where size > 100                   spends 0
--           Scan trades (ts, size, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- of a subquery
SELECT SUM(worth) AS total FROM (SELECT price * size AS worth FROM trades WHERE buy) [RANGE 1 MINUTE] x;
-- plan:
--   q: sum(price * size) from trades [range 1 min] where buy, on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                              owed exact
--     Aggregate sum(price * size)                 spends 0, shard 1
--       Window range 1 min                        spends 0, panes of 1 s, from history, not shared
--         Where buy                               spends 0
--           Scan trades (ts, buy, price, size)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- of a coarse tick
SELECT AVG(price) FROM slow [RANGE 10 MINUTES] EVERY 2 MINUTES;
-- plan:
--   q: avg(price) from slow [range 10 min], every 2 min, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 2 min             owed exact
--     Aggregate avg(price)         spends 0, shard 0
--       Window range 10 min        spends 0, panes of 2 min, from history, not shared
--         Scan slow (ts, price)    files, tick 1 min, late rows dropped
--   rows of slow: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- of rows that are revised
SELECT SUM(length) FROM packets [RANGE 10 SECONDS SLIDE 10 SECONDS] ON CLOSE;
-- plan:
--   q: sum(length) from packets [range 10 s slide 10 s], on close, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on close                     owed exact
--     Aggregate sum(length)             spends 0, shard 2
--       Window range 10 s slide 10 s    spends 0, panes of 10 s, from history, not shared
--         Scan packets (ts, length)     files, tick 1 s, late rows revise 1 min back
--   rows of packets: summed where they are read, sent to one shard
--   error by cause: none
--   kept back 0 of the error: nothing here is approximate

-- of rows that are waited for
SELECT MAX(bid) FROM quotes [RANGE 10 SECONDS] EVERY 10 SECONDS;
-- plan:
--   q: max(bid) from quotes [range 10 s], every 10 s, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s              owed exact
--     Aggregate max(bid)           spends 0, shard 2
--       Window range 10 s          spends 0, panes of 10 s, from history, not shared
--         Scan quotes (ts, bid)    files, tick 1 s, late rows waited for 5 s
--   rows of quotes: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- several that share
SELECT COUNT(*) AS n, SUM(price) AS total, AVG(price) AS mean FROM trades [RANGE 1 MINUTE] GROUP BY sym EVERY 10 SECONDS;
-- plan:
--   q.n: count(*) from trades [range 1 min] group by sym, every 10 s, exact
--   q.total: sum(price) from trades [range 1 min] group by sym, every 10 s, exact
--   q.mean: avg(price) from trades [range 1 min] group by sym, every 10 s, exact
-- explain:
--   q.n version 1, running, since epoch 2
--   Answer every 10 s              owed exact
--     Aggregate count(*) by sym    spends 0, groups over 4 shards
--       Window range 1 min         spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, sym)    files, tick 1 s, late rows dropped
--   rows of trades: summed by sym where they are read
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate
--
--   q.total version 1, running, since epoch 2
--   Answer every 10 s                     owed exact
--     Aggregate sum(price) by sym         spends 0, groups over 4 shards
--       Window range 1 min                spends 0, panes of 10 s, from history, shared by 2 queries
--         Scan trades (ts, sym, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed by sym where they are read
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate
--
--   q.mean version 1, running, since epoch 2
--   Answer every 10 s                     owed exact
--     Aggregate avg(price) by sym         spends 0, groups over 4 shards
--       Window range 1 min                spends 0, panes of 10 s, from history, shared by 2 queries
--         Scan trades (ts, sym, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed by sym where they are read
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- the newest of each, with the extremes of rows
SELECT FIRST(price) AS opened, LAST(price) AS closed FROM trades [RANGE 1 MINUTE];
-- plan:
--   Select FIRST(price, ts) as opened, LAST(price, ts) as closed
--     Group FIRST(price, ts), LAST(price, ts)
--       Window range 1 min
--         Scan trades (ts, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                  owed exact, rows that come and go, from history
--     Select FIRST(price, ts) as opened, LAST(price, ts) as closed    spends 0, keeps nothing, not shared
--       Group FIRST(price, ts), LAST(price, ts)                       spends 0, keeps one row, not shared
--         Window range 1 min                                          spends 0, keeps rows of trades for range 1 min, not shared
--           Scan trades (ts, price)                                   files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: no group is a column that rows could be hashed by
--   kept back 0 of the error: rows are exact

-- the extremes of texts are rows
SELECT MIN(sym) AS a, MAX(sym) AS b FROM trades [RANGE 1 MINUTE];
-- plan:
--   Select MIN(sym) as a, MAX(sym) as b
--     Group MIN(sym), MAX(sym)
--       Window range 1 min
--         Scan trades (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                         owed exact, rows that come and go, from history
--     Select MIN(sym) as a, MAX(sym) as b    spends 0, keeps nothing, not shared
--       Group MIN(sym), MAX(sym)             spends 0, keeps one row, not shared
--         Window range 1 min                 spends 0, keeps rows of trades for range 1 min, shared by 2 queries
--           Scan trades (sym)                files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: no group is a column that rows could be hashed by
--   kept back 0 of the error: rows are exact

-- an expression of aggregates is rows
SELECT SUM(price) / COUNT(*) AS mean FROM trades [RANGE 1 MINUTE];
-- plan:
--   Select SUM(price) / COUNT(*) as mean
--     Group SUM(price), COUNT(*)
--       Window range 1 min
--         Scan trades (price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                          owed exact, rows that come and go, from history
--     Select SUM(price) / COUNT(*) as mean    spends 0, keeps nothing, not shared
--       Group SUM(price), COUNT(*)            spends 0, keeps one row, not shared
--         Window range 1 min                  spends 0, keeps rows of trades for range 1 min, not shared
--           Scan trades (price)               files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: no group is a column that rows could be hashed by
--   kept back 0 of the error: rows are exact

-- a filter of an aggregate over rows
SELECT COUNT(*) FILTER (WHERE buy) AS n FROM trades [ROWS 10];
-- plan:
--   Select COUNT(*) FILTER (WHERE buy) as n
--     Group COUNT(*) FILTER (WHERE buy)
--       Window rows 10
--         Scan trades (buy)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                             owed exact, rows that come and go, from history
--     Select COUNT(*) FILTER (WHERE buy) as n    spends 0, keeps nothing, not shared
--       Group COUNT(*) FILTER (WHERE buy)        spends 0, keeps one row, not shared
--         Window rows 10                         spends 0, keeps 10 rows of trades, not shared
--           Scan trades (buy)                    files, tick 1 s, late rows dropped
--   memory bounded: 10 rows of trades
--   store of trades: rows 10
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: window rows 10 depends on rows that come after
--   kept back 0 of the error: rows are exact
