-- how many are above the mean
SELECT COUNT(*) WHEN price > AVG(price) AS above FROM trades [RANGE 1 MINUTE];
-- plan:
--   q: count(*) when price > avg(price) from trades [range 1 min], on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                        owed exact
--     Summarise count(*) when price > avg(price) in KeptPairs(seed=9001)    spends exact, every value kept, shard 3
--       Window range 1 min                                                  spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts, price)                                           files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- how many are far above
SELECT COUNT(*) WHEN price > 1.5 * AVG(price) FROM trades [RANGE 1 MINUTE] EVERY 10 SECONDS;
-- plan:
--   q: count(*) when price > 1.5 * avg(price) from trades [range 1 min], every 10 s, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                                                             owed exact
--     Summarise count(*) when price > 1.5 * avg(price) in KeptPairs(seed=9001)    spends exact, every value kept, shard 1
--       Window range 1 min                                                        spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, price)                                                 files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- near the least
SELECT SUM(size) WHEN price <= 2 * MIN(price) + 1 AS cheap FROM trades [RANGE 1 MINUTE];
-- plan:
--   q: sum(size) when price <= 2 * min(price) + 1 from trades [range 1 min], on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                  owed exact
--     Summarise sum(size) when price <= 2 * min(price) + 1 in KeptPairs(seed=9001)    spends exact, every value kept, shard 0
--       Window range 1 min                                                            spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts, price, size)                                               files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- the other way round
SELECT COUNT(*) WHEN MAX(price) / 2 < price AS top FROM trades [RANGE 1 MINUTE];
-- plan:
--   q: count(*) when price > 0.5 * max(price) from trades [range 1 min], on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                              owed exact
--     Summarise count(*) when price > 0.5 * max(price) in KeptPairs(seed=9001)    spends exact, every value kept, shard 3
--       Window range 1 min                                                        spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts, price)                                                 files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- of an expression
SELECT COUNT(*) WHEN price * size > AVG(price * size) AS heavy FROM trades [RANGE 1 MINUTE];
-- plan:
--   q: count(*) when price * size > avg(price * size) from trades [range 1 min], on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                      owed exact
--     Summarise count(*) when price * size > avg(price * size) in KeptPairs(seed=9001)    spends exact, every value kept, shard 3
--       Window range 1 min                                                                spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts, price, size)                                                   files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- by group
SELECT sym, COUNT(*) WHEN price > AVG(price) AS above FROM trades [RANGE 1 MINUTE] GROUP BY sym EVERY 10 SECONDS;
-- plan:
--   q: count(*) when price > avg(price) from trades [range 1 min] group by sym, every 10 s, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                                                              owed exact
--     Summarise count(*) when price > avg(price) by sym in KeptPairs(seed=9001)    spends exact, every value kept, groups over 4 shards
--       Window range 1 min                                                         spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, sym, price)                                             files, tick 1 s, late rows dropped
--   rows of trades: hashed by sym
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- since an instant
SELECT COUNT(*) WHEN price >= AVG(price) FROM trades [SINCE '2026-01-01'] EVERY 1 MINUTE;
-- plan:
--   q: count(*) when price >= avg(price) from trades [since 2026-01-01T00:00:00Z], every 1 min, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 1 min                                                       owed exact
--     Summarise count(*) when price >= avg(price) in KeptPairs(seed=9001)    spends exact, every value kept, state grows with every row of trades, shard 3
--       Window since 2026-01-01T00:00:00Z                                    spends 0, one pane, not shared
--         Scan trades (ts, price)                                            files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- within a share of the rows
SELECT COUNT(*) WHEN price > AVG(price) FROM trades [RANGE 1 MINUTE] WITHIN 1% RANK EVERY 10 SECONDS;
-- plan:
--   q: count(*) when price > avg(price) from trades [range 1 min], every 10 s, within 0.01 in rank at 95% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                                                                                                                        owed within 0.01 in rank at 95% confidence
--     Summarise count(*) when price > avg(price) in CutRank(kind='gk', inner={'epsilon': 0.01, 'least_kept': 1.0}, seed=3716299003141818)    spends within 0.01 in rank, 100.0% per question, GK16 thm 2, 2,936 bytes a group and pane, shard 0
--       Window range 1 min                                                                                                                   spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, price)                                                                                                            files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: cut_rank, late rows
--   kept back 0 of 0.01, 5% of the chance to fail
--   not kll: takes 14,372 bytes
--   not mrl: takes 28,032 bytes
--   not reservoir: takes 295,184 bytes

-- beside the mean itself
SELECT AVG(price) AS mean, (COUNT(*) WHEN price > AVG(price)) AS above FROM trades [RANGE 1 MINUTE] EVERY 10 SECONDS;
-- plan:
--   q.mean: avg(price) from trades [range 1 min], every 10 s, exact
--   q.above: count(*) when price > avg(price) from trades [range 1 min], every 10 s, exact
-- explain:
--   q.mean version 1, running, since epoch 2
--   Answer every 10 s                owed exact
--     Aggregate avg(price)           spends 0, shard 2
--       Window range 1 min           spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate
--
--   q.above version 1, running, since epoch 2
--   Answer every 10 s                                                       owed exact
--     Summarise count(*) when price > avg(price) in KeptPairs(seed=9001)    spends exact, every value kept, shard 1
--       Window range 1 min                                                  spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, price)                                           files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate
