-- of a row
SELECT sym, hypot(price, size) AS h FROM trades;
-- plan:
--   Stream of what comes
--     Select sym, hypot(price, size) as h
--       Window unbounded
--         Scan trades (sym, price, size)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                           owed exact, a stream of rows, from history
--     Stream of what comes                     spends 0, keeps nothing, not shared
--       Select sym, hypot(price, size) as h    spends 0, keeps nothing, not shared
--         Window unbounded                     spends 0, keeps nothing, not shared
--           Scan trades (sym, price, size)     files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed on all of 4 shards, in the index of selections
--   rows of trades: spread over all shards
--   kept back 0 of the error: rows are exact

-- in a condition
SELECT sym FROM trades WHERE hypot(price, 1.0) > 5;
-- plan:
--   Stream of what comes
--     Select sym
--       Window unbounded
--         Where hypot(price, 1.0) > 5
--           Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                       owed exact, a stream of rows, from history
--     Stream of what comes                 spends 0, keeps nothing, not shared
--       Select sym                         spends 0, keeps nothing, not shared
--         Window unbounded                 spends 0, keeps nothing, not shared
--           Where hypot(price, 1.0) > 5    spends 0, keeps nothing, not shared
--             Scan trades (sym, price)     files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed on all of 4 shards, in the index of selections
--   rows of trades: spread over all shards
--   kept back 0 of the error: rows are exact

-- of aggregates
SELECT hypot(AVG(price), 1.0) AS h FROM trades [RANGE 1 MINUTE];
-- plan:
--   Select hypot(AVG(price), 1.0) as h
--     Group AVG(price)
--       Window range 1 min
--         Scan trades (price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                        owed exact, rows that come and go, from history
--     Select hypot(AVG(price), 1.0) as h    spends 0, keeps nothing, not shared
--       Group AVG(price)                    spends 0, keeps one row, not shared
--         Window range 1 min                spends 0, keeps rows of trades for range 1 min, not shared
--           Scan trades (price)             files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: no group is a column that rows could be hashed by
--   kept back 0 of the error: rows are exact

-- an aggregate
SELECT sym, spread(price) AS s FROM trades [RANGE 1 MINUTE] GROUP BY sym;
-- plan:
--   Select sym, spread(price) as s
--     Group spread(price) by sym
--       Window range 1 min
--         Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                    owed exact, rows that come and go, from history
--     Select sym, spread(price) as s    spends 0, keeps nothing, not shared
--       Group spread(price) by sym      spends 0, keeps one row for each sym, not shared
--         Window range 1 min            spends 0, keeps rows of trades for range 1 min, not shared
--           Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of trades: hashed by sym
--   kept back 0 of the error: rows are exact

-- an aggregate among others
SELECT spread(price) - MAX(price) AS s FROM trades [ROWS 10];
-- plan:
--   Select spread(price) - MAX(price) as s
--     Group spread(price), MAX(price)
--       Window rows 10
--         Scan trades (price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                            owed exact, rows that come and go, from history
--     Select spread(price) - MAX(price) as s    spends 0, keeps nothing, not shared
--       Group spread(price), MAX(price)         spends 0, keeps one row, not shared
--         Window rows 10                        spends 0, keeps 10 rows of trades, not shared
--           Scan trades (price)                 files, tick 1 s, late rows dropped
--   memory bounded: 10 rows of trades
--   store of trades: rows 10
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: window rows 10 depends on rows that come after
--   kept back 0 of the error: rows are exact

-- an aggregate with a filter
SELECT spread(price) FILTER (WHERE buy) AS s FROM trades [RANGE 1 MINUTE];
-- plan:
--   Select spread(price) FILTER (WHERE buy) as s
--     Group spread(price) FILTER (WHERE buy)
--       Window range 1 min
--         Scan trades (price, buy)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                  owed exact, rows that come and go, from history
--     Select spread(price) FILTER (WHERE buy) as s    spends 0, keeps nothing, not shared
--       Group spread(price) FILTER (WHERE buy)        spends 0, keeps one row, not shared
--         Window range 1 min                          spends 0, keeps rows of trades for range 1 min, not shared
--           Scan trades (price, buy)                  files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: no group is a column that rows could be hashed by
--   kept back 0 of the error: rows are exact

-- a number computed by a function
SELECT AVG(hypot(price, size)) FROM trades [RANGE 1 MINUTE] EVERY 10 SECONDS;
-- plan:
--   q: avg(hypot(price, size)) from trades [range 1 min], every 10 s, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                      owed exact
--     Aggregate avg(hypot(price, size))    spends 0, shard 0
--       Window range 1 min                 spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, price, size)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- a group by a function
SELECT round(hypot(price, size)) AS h, COUNT(*) AS n FROM trades [RANGE 1 MINUTE] GROUP BY h;
-- plan:
--   q: count(*) from trades [range 1 min] group by round(hypot(price, size)), on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                     owed exact
--     Aggregate count(*) by round(hypot(price, size))    spends 0, groups over 4 shards
--       Window range 1 min                               spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts, price, size)                  files, tick 1 s, late rows dropped
--   rows of trades: summed by round(hypot(price, size)) where they are read
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate
