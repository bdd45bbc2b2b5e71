-- the first rows
SELECT sym, price FROM trades [RANGE 1 MINUTE] ORDER BY price DESC LIMIT 3;
-- plan:
--   First 3 by price desc
--     Window range 1 min
--       Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                  owed exact, rows that come and go, from history
--     First 3 by price desc           spends 0, keeps nothing, not shared
--       Window range 1 min            spends 0, keeps rows of trades for range 1 min, not shared
--         Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on one of 4 shards with the views over the same windows
--   kept back 0 of the error: rows are exact

-- by position
SELECT sym, price FROM trades [RANGE 1 MINUTE] ORDER BY 2 DESC, 1 LIMIT 3;
-- plan:
--   First 3 by price desc, sym
--     Window range 1 min
--       Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                  owed exact, rows that come and go, from history
--     First 3 by price desc, sym      spends 0, keeps nothing, not shared
--       Window range 1 min            spends 0, keeps rows of trades for range 1 min, not shared
--         Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on one of 4 shards with the views over the same windows
--   kept back 0 of the error: rows are exact

-- by alias
SELECT sym, price * size AS worth FROM trades [RANGE 1 MINUTE] ORDER BY worth ASC LIMIT 3;
-- plan:
--   First 3 by worth
--     Select sym, price * size as worth
--       Window range 1 min
--         Scan trades (sym, price, size)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                          owed exact, rows that come and go, from history
--     First 3 by worth                        spends 0, keeps nothing, not shared
--       Select sym, price * size as worth     spends 0, keeps nothing, not shared
--         Window range 1 min                  spends 0, keeps rows of trades for range 1 min, not shared
--           Scan trades (sym, price, size)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on one of 4 shards with the views over the same windows
--   kept back 0 of the error: rows are exact

-- by what is not selected
SELECT sym FROM trades [RANGE 1 MINUTE] ORDER BY price DESC LIMIT 2;
-- plan:
--   Select sym
--     First 2 by order_1 desc
--       Select sym, price as order_1
--         Window range 1 min
--           Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                      owed exact, rows that come and go, from history
--     Select sym                          spends 0, keeps nothing, not shared
--       First 2 by order_1 desc           spends 0, keeps nothing, not shared
--         Select sym, price as order_1    spends 0, keeps nothing, not shared
--           Window range 1 min            spends 0, keeps rows of trades for range 1 min, not shared
--             Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on one of 4 shards with the views over the same windows
--   kept back 0 of the error: rows are exact

-- by an expression
SELECT sym, price FROM trades [RANGE 1 MINUTE] ORDER BY abs(price - 10) LIMIT 2;
-- plan:
--   Select sym, price
--     First 2 by order_1
--       Select sym, price, abs(price - 10) as order_1
--         Window range 1 min
--           Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                       owed exact, rows that come and go, from history
--     Select sym, price                                    spends 0, keeps nothing, not shared
--       First 2 by order_1                                 spends 0, keeps nothing, not shared
--         Select sym, price, abs(price - 10) as order_1    spends 0, keeps nothing, not shared
--           Window range 1 min                             spends 0, keeps rows of trades for range 1 min, not shared
--             Scan trades (sym, price)                     files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on one of 4 shards with the views over the same windows
--   kept back 0 of the error: rows are exact

-- of groups
SELECT sym, COUNT(*) AS n FROM trades [RANGE 1 MINUTE] GROUP BY sym ORDER BY n DESC LIMIT 3;
-- plan:
--   First 3 by n desc
--     Select sym, COUNT(*) as n
--       Group COUNT(*) by sym
--         Window range 1 min
--           Scan trades (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                 owed exact, rows that come and go, from history
--     First 3 by n desc              spends 0, keeps nothing, not shared
--       Select sym, COUNT(*) as n    spends 0, keeps nothing, not shared
--         Group COUNT(*) by sym      spends 0, keeps one row for each sym, shared by 2 queries
--           Window range 1 min       spends 0, keeps rows of trades for range 1 min, shared by 2 queries
--             Scan trades (sym)      files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on one of 4 shards with the views over the same windows
--   kept back 0 of the error: rows are exact

-- of groups by another aggregate
SELECT sym FROM trades [RANGE 1 MINUTE] GROUP BY sym ORDER BY MAX(price) DESC LIMIT 3;
-- plan:
--   Select sym
--     First 3 by order_1 desc
--       Select sym, MAX(price) as order_1
--         Group MAX(price) by sym
--           Window range 1 min
--             Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                           owed exact, rows that come and go, from history
--     Select sym                               spends 0, keeps nothing, not shared
--       First 3 by order_1 desc                spends 0, keeps nothing, not shared
--         Select sym, MAX(price) as order_1    spends 0, keeps nothing, not shared
--           Group MAX(price) by sym            spends 0, keeps one row for each sym, not shared
--             Window range 1 min               spends 0, keeps rows of trades for range 1 min, not shared
--               Scan trades (sym, price)       files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on one of 4 shards with the views over the same windows
--   kept back 0 of the error: rows are exact

-- without a limit
SELECT sym FROM trades [NOW] ORDER BY sym;
-- plan:
--   Order by sym
--     Window now
--       Scan trades (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change           owed exact, rows that come and go, from history
--     Order by sym             spends 0, keeps nothing, not shared
--       Window now             spends 0, keeps rows of trades for now, not shared
--         Scan trades (sym)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for now
--   store of trades: now
--   placed on one of 4 shards with the views over the same windows
--   kept back 0 of the error: rows are exact

-- a limit without an order
SELECT sym FROM trades [NOW] LIMIT 3;
-- plan:
--   First 3
--     Window now
--       Scan trades (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change           owed exact, rows that come and go, from history
--     First 3                  spends 0, keeps nothing, not shared
--       Window now             spends 0, keeps rows of trades for now, not shared
--         Scan trades (sym)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for now
--   store of trades: now
--   placed on one of 4 shards with the views over the same windows
--   kept back 0 of the error: rows are exact

-- inside a subquery without a limit
SELECT sym FROM (SELECT sym, price FROM trades [NOW] ORDER BY price) x WHERE price > 1;
-- plan:
--   Select sym
--     Window now
--       Where price > 1
--         Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                    owed exact, rows that come and go, from history
--     Select sym                        spends 0, keeps nothing, not shared
--       Window now                      spends 0, keeps rows of trades for now, not shared
--         Where price > 1               spends 0, keeps nothing, not shared
--           Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for now
--   store of trades: now
--   placed on one of 4 shards with the views over the same windows
--   kept back 0 of the error: rows are exact

-- inside a subquery with a limit
SELECT sym FROM (SELECT sym, price FROM trades [NOW] ORDER BY price LIMIT 5) x WHERE price > 1;
-- plan:
--   Select sym
--     Where price > 1
--       First 5 by price
--         Window now
--           Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                      owed exact, rows that come and go, from history
--     Select sym                          spends 0, keeps nothing, not shared
--       Where price > 1                   spends 0, keeps nothing, not shared
--         First 5 by price                spends 0, keeps nothing, not shared
--           Window now                    spends 0, keeps rows of trades for now, not shared
--             Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for now
--   store of trades: now
--   placed on one of 4 shards with the views over the same windows
--   kept back 0 of the error: rows are exact

-- no rows
SELECT sym FROM trades [NOW] LIMIT 0;
-- plan:
--   First 0
--     Window now
--       Scan trades (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change           owed exact, rows that come and go, from history
--     First 0                  spends 0, keeps nothing, not shared
--       Window now             spends 0, keeps rows of trades for now, not shared
--         Scan trades (sym)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for now
--   store of trades: now
--   placed on one of 4 shards with the views over the same windows
--   kept back 0 of the error: rows are exact
