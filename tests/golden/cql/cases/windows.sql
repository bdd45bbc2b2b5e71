-- now
SELECT sym, price FROM trades [NOW];
-- plan:
--   Window now
--     Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                owed exact, rows that come and go, from history
--     Window now                    spends 0, keeps rows of trades for now, not shared
--       Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for now
--   store of trades: now
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of trades: hashed by sym
--   kept back 0 of the error: rows are exact

-- rows
SELECT sym, price FROM trades [ROWS 100];
-- plan:
--   Window rows 100
--     Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                owed exact, rows that come and go, from history
--     Window rows 100               spends 0, keeps 100 rows of trades, not shared
--       Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory bounded: 100 rows of trades
--   store of trades: rows 100
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: window rows 100 depends on rows that come after
--   kept back 0 of the error: rows are exact

-- rows unbounded
SELECT sym, price FROM trades [ROWS UNBOUNDED];
-- plan:
--   Window unbounded
--     Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                owed exact, rows that come and go, from history
--     Window unbounded              spends 0, keeps every row of trades as the answer is all of them, not shared
--       Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory unbounded: every row of trades as the answer is all of them
--   state grows with every row of trades; a window bounds it: trades [RANGE 5 MINUTES]
--   store of trades: unbounded
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of trades: hashed by sym
--   kept back 0 of the error: rows are exact

-- range
SELECT sym, price FROM trades [RANGE 5 MINUTES];
-- plan:
--   Window range 5 min
--     Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                owed exact, rows that come and go, from history
--     Window range 5 min            spends 0, keeps rows of trades for range 5 min, not shared
--       Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 5 min
--   store of trades: range 5 min
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of trades: hashed by sym
--   kept back 0 of the error: rows are exact

-- range with a slide
SELECT sym, price FROM trades [RANGE 5 MINUTES SLIDE 1 MINUTE];
-- plan:
--   Window range 5 min slide 1 min
--     Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                    owed exact, rows that come and go, from history
--     Window range 5 min slide 1 min    spends 0, keeps rows of trades for range 5 min slide 1 min, not shared
--       Scan trades (sym, price)        files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 5 min slide 1 min
--   store of trades: range 5 min slide 1 min
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of trades: hashed by sym
--   kept back 0 of the error: rows are exact

-- range unbounded
SELECT sym, price FROM trades [RANGE UNBOUNDED];
-- plan:
--   Window unbounded
--     Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                owed exact, rows that come and go, from history
--     Window unbounded              spends 0, keeps every row of trades as the answer is all of them, not shared
--       Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory unbounded: every row of trades as the answer is all of them
--   state grows with every row of trades; a window bounds it: trades [RANGE 5 MINUTES]
--   store of trades: unbounded
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of trades: hashed by sym
--   kept back 0 of the error: rows are exact

-- partition
SELECT sym, price FROM trades [PARTITION BY sym ROWS 3];
-- plan:
--   Window partition by sym rows 3
--     Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                    owed exact, rows that come and go, from history
--     Window partition by sym rows 3    spends 0, keeps 3 rows of trades for each sym, not shared
--       Scan trades (sym, price)        files, tick 1 s, late rows dropped
--   memory groups: 3 rows of trades for each sym
--   store of trades: partition by sym rows 3
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: window partition by sym rows 3 depends on rows that come after
--   kept back 0 of the error: rows are exact

-- partition by two columns
SELECT sym, price FROM trades [PARTITION BY sym, buy ROWS 1];
-- plan:
--   Select sym, price
--     Window partition by sym, buy rows 1
--       Scan trades (sym, price, buy)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                           owed exact, rows that come and go, from history
--     Select sym, price                        spends 0, keeps nothing, not shared
--       Window partition by sym, buy rows 1    spends 0, keeps 1 rows of trades for each sym, buy, not shared
--         Scan trades (sym, price, buy)        files, tick 1 s, late rows dropped
--   memory groups: 1 rows of trades for each sym, buy
--   store of trades: partition by sym, buy rows 1
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: window partition by sym, buy rows 1 depends on rows that come after
--   kept back 0 of the error: rows are exact

-- since
SELECT sym, price FROM trades [SINCE '2026-01-01'];
-- plan:
--   Window since 2026-01-01T00:00:00Z
--     Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                       owed exact, rows that come and go, from history
--     Window since 2026-01-01T00:00:00Z    spends 0, keeps rows of trades since 2026-01-01T00:00:00Z, not shared
--       Scan trades (sym, price)           files, tick 1 s, late rows dropped
--   memory unbounded: rows of trades since 2026-01-01T00:00:00Z
--   state grows with every row of trades; a window bounds it: trades [RANGE 5 MINUTES]
--   store of trades: since 2026-01-01T00:00:00Z
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of trades: hashed by sym
--   kept back 0 of the error: rows are exact

-- landmark
SELECT sym, price FROM trades [LANDMARK '2026-01-01T06:00:00Z'];
-- plan:
--   Window since 2026-01-01T06:00:00Z
--     Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                       owed exact, rows that come and go, from history
--     Window since 2026-01-01T06:00:00Z    spends 0, keeps rows of trades since 2026-01-01T06:00:00Z, not shared
--       Scan trades (sym, price)           files, tick 1 s, late rows dropped
--   memory unbounded: rows of trades since 2026-01-01T06:00:00Z
--   state grows with every row of trades; a window bounds it: trades [RANGE 5 MINUTES]
--   store of trades: since 2026-01-01T06:00:00Z
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of trades: hashed by sym
--   kept back 0 of the error: rows are exact

-- session
SELECT sym, price FROM trades [SESSION 30 SECONDS];
-- plan:
--   Window session 30 s
--     Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                owed exact, rows that come and go, from history
--     Window session 30 s           spends 0, keeps rows of trades for session 30 s, not shared
--       Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for session 30 s
--   store of trades: session 30 s
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: window session 30 s depends on rows that come after
--   kept back 0 of the error: rows are exact

-- session of each key
SELECT sym, price FROM trades [SESSION 30 SECONDS PARTITION BY sym];
-- plan:
--   Window session 30 s partition by sym
--     Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                          owed exact, rows that come and go, from history
--     Window session 30 s partition by sym    spends 0, keeps rows of trades for session 30 s partition by sym, not shared
--       Scan trades (sym, price)              files, tick 1 s, late rows dropped
--   memory window: rows of trades for session 30 s partition by sym
--   store of trades: session 30 s partition by sym
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: window session 30 s partition by sym depends on rows that come after
--   kept back 0 of the error: rows are exact

-- a window by name
SELECT sym, price FROM trades [recent];
-- plan:
--   Window range 5 min slide 1 min
--     Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                    owed exact, rows that come and go, from history
--     Window range 5 min slide 1 min    spends 0, keeps rows of trades for range 5 min slide 1 min, not shared
--       Scan trades (sym, price)        files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 5 min slide 1 min
--   store of trades: range 5 min slide 1 min
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of trades: hashed by sym
--   kept back 0 of the error: rows are exact

-- a window of rows by name
SELECT sym, price FROM trades [few];
-- plan:
--   Window rows 10
--     Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                owed exact, rows that come and go, from history
--     Window rows 10                spends 0, keeps 10 rows of trades, not shared
--       Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory bounded: 10 rows of trades
--   store of trades: rows 10
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: window rows 10 depends on rows that come after
--   kept back 0 of the error: rows are exact

-- durations of several parts
SELECT sym FROM trades [RANGE 1 HOUR 30 MIN SLIDE '90 s'];
-- plan:
--   Window range 1 h 30 min slide 1 min 30 s
--     Scan trades (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                              owed exact, rows that come and go, from history
--     Window range 1 h 30 min slide 1 min 30 s    spends 0, keeps rows of trades for range 1 h 30 min slide 1 min 30 s, not shared
--       Scan trades (sym)                         files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 h 30 min slide 1 min 30 s
--   store of trades: range 1 h 30 min slide 1 min 30 s
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of trades: hashed by sym
--   kept back 0 of the error: rows are exact

-- a window after an alias
SELECT t.sym FROM trades AS t [NOW];
-- plan:
--   Window now
--     Scan trades (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change         owed exact, rows that come and go, from history
--     Window now             spends 0, keeps rows of trades for now, not shared
--       Scan trades (sym)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for now
--   store of trades: now
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of trades: hashed by sym
--   kept back 0 of the error: rows are exact

-- a filter goes below a window of time
SELECT sym FROM trades [RANGE 1 MINUTE] WHERE price > 10;
-- plan:
--   Select sym
--     Window range 1 min
--       Where price > 10
--         Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                    owed exact, rows that come and go, from history
--     Select sym                        spends 0, keeps nothing, not shared
--       Window range 1 min              spends 0, keeps rows of trades for range 1 min, not shared
--         Where price > 10              spends 0, keeps nothing, not shared
--           Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of trades: hashed by sym
--   kept back 0 of the error: rows are exact

-- a filter stays above a window of rows
SELECT sym FROM trades [ROWS 10] WHERE price > 10;
-- plan:
--   Select sym
--     Where price > 10
--       Window rows 10
--         Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                    owed exact, rows that come and go, from history
--     Select sym                        spends 0, keeps nothing, not shared
--       Where price > 10                spends 0, keeps nothing, not shared
--         Window rows 10                spends 0, keeps 10 rows of trades, not shared
--           Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory bounded: 10 rows of trades
--   store of trades: rows 10
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: window rows 10 depends on rows that come after
--   kept back 0 of the error: rows are exact

-- a filter on the key goes below a partition
SELECT sym FROM trades [PARTITION BY sym ROWS 2] WHERE sym = 'A' AND price > 10;
-- plan:
--   Select sym
--     Where price > 10
--       Window partition by sym rows 2
--         Where sym = 'A'
--           Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                        owed exact, rows that come and go, from history
--     Select sym                            spends 0, keeps nothing, not shared
--       Where price > 10                    spends 0, keeps nothing, not shared
--         Window partition by sym rows 2    spends 0, keeps 2 rows of trades for each sym, not shared
--           Where sym = 'A'                 spends 0, keeps nothing, not shared
--             Scan trades (sym, price)      files, tick 1 s, late rows dropped
--   memory groups: 2 rows of trades for each sym
--   store of trades: partition by sym rows 2
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: window partition by sym rows 2 depends on rows that come after
--   kept back 0 of the error: rows are exact

-- a filter on the key goes below a session
SELECT sym FROM trades [SESSION 1 MINUTE PARTITION BY sym] WHERE sym IN ('A', 'B');
-- plan:
--   Window session 1 min partition by sym
--     Where sym IN ('A', 'B')
--       Scan trades (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                           owed exact, rows that come and go, from history
--     Window session 1 min partition by sym    spends 0, keeps rows of trades for session 1 min partition by sym, not shared
--       Where sym IN ('A', 'B')                spends 0, keeps nothing, not shared
--         Scan trades (sym)                    files, tick 1 s, late rows dropped
--   memory window: rows of trades for session 1 min partition by sym
--   store of trades: session 1 min partition by sym
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: window session 1 min partition by sym depends on rows that come after
--   kept back 0 of the error: rows are exact

-- a filter goes below a landmark
SELECT sym FROM trades [SINCE '2026-01-01'] WHERE price > 10;
-- plan:
--   Select sym
--     Window since 2026-01-01T00:00:00Z
--       Where price > 10
--         Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                         owed exact, rows that come and go, from history
--     Select sym                             spends 0, keeps nothing, not shared
--       Window since 2026-01-01T00:00:00Z    spends 0, keeps rows of trades since 2026-01-01T00:00:00Z, not shared
--         Where price > 10                   spends 0, keeps nothing, not shared
--           Scan trades (sym, price)         files, tick 1 s, late rows dropped
--   memory unbounded: rows of trades since 2026-01-01T00:00:00Z
--   state grows with every row of trades; a window bounds it: trades [RANGE 5 MINUTES]
--   store of trades: since 2026-01-01T00:00:00Z
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of trades: hashed by sym
--   kept back 0 of the error: rows are exact

-- a window over a selection
SELECT sym FROM (SELECT * FROM trades WHERE size > 10) [ROWS 5] x;
-- plan:
--   Select sym
--     Window rows 5
--       Where size > 10
--         Scan trades (sym, size)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                   owed exact, rows that come and go, from history
--     Select sym                       spends 0, keeps nothing, not shared
--       Window rows 5                  spends 0, keeps 5 rows of trades, not shared
--         Where size > 10              spends 0, keeps nothing, not shared
--           Scan trades (sym, size)    files, tick 1 s, late rows dropped
--   memory bounded: 5 rows of trades
--   store of trades: rows 5
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: window rows 5 depends on rows that come after
--   kept back 0 of the error: rows are exact

-- a window of time over a selection
SELECT sym FROM (SELECT sym, price * 2 AS p FROM trades) [RANGE 1 MINUTE] x WHERE p > 10;
-- plan:
--   Select sym
--     Window range 1 min
--       Where price * 2 > 10
--         Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                    owed exact, rows that come and go, from history
--     Select sym                        spends 0, keeps nothing, not shared
--       Window range 1 min              spends 0, keeps rows of trades for range 1 min, not shared
--         Where price * 2 > 10          spends 0, keeps nothing, not shared
--           Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of trades: hashed by sym
--   kept back 0 of the error: rows are exact

-- a window over a view
SELECT sym, worth FROM big [PARTITION BY sym ROWS 3];
-- plan:
--   Select sym, price * size as worth
--     Window partition by sym rows 3
--       Where size > 100
--         Scan trades (sym, price, size)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                          owed exact, rows that come and go, from history
--     Select sym, price * size as worth       spends 0, keeps nothing, not shared
--       Window partition by sym rows 3        spends 0, keeps 3 rows of trades for each sym, not shared
--         Where size > 100                    spends 0, keeps nothing, not shared
--           Scan trades (sym, price, size)    files, tick 1 s, late rows dropped
--   memory groups: 3 rows of trades for each sym
--   store of trades: partition by sym rows 3
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: window partition by sym rows 3 depends on rows that come after
--   kept back 0 of the error: rows are exact

-- a window of a coarse tick
SELECT sym FROM slow [RANGE 10 MINUTES];
-- plan:
--   Window range 10 min
--     Scan slow (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change         owed exact, rows that come and go, from history
--     Window range 10 min    spends 0, keeps rows of slow for range 10 min, not shared
--       Scan slow (sym)      files, tick 1 min, late rows dropped
--   memory window: rows of slow for range 10 min
--   store of slow: range 10 min
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of slow: hashed by sym
--   kept back 0 of the error: rows are exact

-- a window of a stream that waits for late rows
SELECT sym FROM quotes [RANGE 10 SECONDS];
-- plan:
--   Window range 10 s
--     Scan quotes (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change         owed exact, rows that come and go, from history
--     Window range 10 s      spends 0, keeps rows of quotes for range 10 s, not shared
--       Scan quotes (sym)    files, tick 1 s, late rows waited for 5 s
--   memory window: rows of quotes for range 10 s
--   store of quotes: range 10 s
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of quotes: hashed by sym
--   kept back 0 of the error: rows are exact

-- a window of a stream that revises
SELECT saddr FROM packets [RANGE 10 SECONDS];
-- plan:
--   Window range 10 s
--     Scan packets (saddr)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change            owed exact, rows that come and go, from history
--     Window range 10 s         spends 0, keeps rows of packets for range 10 s, not shared
--       Scan packets (saddr)    files, tick 1 s, late rows revise 1 min back
--   memory window: rows of packets for range 10 s
--   store of packets: range 10 s
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of packets: hashed by saddr
--   kept back 0 of the error: rows are exact
