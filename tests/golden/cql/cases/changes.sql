-- rows that come and go by themselves
SELECT sym, size FROM orders WHERE size > 10;
-- plan:
--   Window unbounded
--     Where size > 10
--       Scan orders (sym, size)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                 owed exact, rows that come and go, from history
--     Window unbounded               spends 0, keeps every row of orders as it takes rows back, not shared
--       Where size > 10              spends 0, keeps nothing, not shared
--         Scan orders (sym, size)    files, tick 1 s, late rows dropped
--   memory unbounded: every row of orders as it takes rows back
--   store of orders: unbounded
--   placed on one of 4 shards with the views over the same windows
--   rows of orders: read by one shard: rows of the stream take others away
--   kept back 0 of the error: rows are exact

-- groups of them
SELECT sym, SUM(size) AS open FROM orders GROUP BY sym;
-- plan:
--   Select sym, SUM(size) as open
--     Group SUM(size) by sym
--       Window unbounded
--         Scan orders (sym, size)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                   owed exact, rows that come and go, from history
--     Select sym, SUM(size) as open    spends 0, keeps nothing, not shared
--       Group SUM(size) by sym         spends 0, keeps one row for each sym, not shared
--         Window unbounded             spends 0, keeps every row of orders as it takes rows back, not shared
--           Scan orders (sym, size)    files, tick 1 s, late rows dropped
--   memory unbounded: every row of orders as it takes rows back
--   store of orders: unbounded
--   placed on one of 4 shards with the views over the same windows
--   rows of orders: read by one shard: rows of the stream take others away
--   kept back 0 of the error: rows are exact

-- what comes
SELECT ISTREAM(sym, size) FROM orders;
-- plan:
--   Stream of what comes
--     Window unbounded
--       Scan orders (sym, size)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                 owed exact, a stream of rows, from history
--     Stream of what comes           spends 0, keeps nothing, not shared
--       Window unbounded             spends 0, keeps every row of orders as it takes rows back, not shared
--         Scan orders (sym, size)    files, tick 1 s, late rows dropped
--   memory unbounded: every row of orders as it takes rows back
--   store of orders: unbounded
--   placed on one of 4 shards with the views over the same windows
--   rows of orders: read by one shard: rows of the stream take others away
--   kept back 0 of the error: rows are exact

-- what goes
SELECT DSTREAM(sym, size) FROM orders;
-- plan:
--   Stream of what goes
--     Window unbounded
--       Scan orders (sym, size)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                 owed exact, a stream of rows, from history
--     Stream of what goes            spends 0, keeps nothing, not shared
--       Window unbounded             spends 0, keeps every row of orders as it takes rows back, not shared
--         Scan orders (sym, size)    files, tick 1 s, late rows dropped
--   memory unbounded: every row of orders as it takes rows back
--   store of orders: unbounded
--   placed on one of 4 shards with the views over the same windows
--   rows of orders: read by one shard: rows of the stream take others away
--   kept back 0 of the error: rows are exact

-- all that are there
SELECT COUNT(*) AS n FROM orders;
-- plan:
--   Select COUNT(*) as n
--     Group COUNT(*)
--       Window unbounded
--         Scan orders (sym, size)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                   owed exact, rows that come and go, from history
--     Select COUNT(*) as n             spends 0, keeps nothing, not shared
--       Group COUNT(*)                 spends 0, keeps one row, not shared
--         Window unbounded             spends 0, keeps every row of orders as it takes rows back, not shared
--           Scan orders (sym, size)    files, tick 1 s, late rows dropped
--   memory unbounded: every row of orders as it takes rows back
--   store of orders: unbounded
--   placed on one of 4 shards with the views over the same windows
--   rows of orders: read by one shard: rows of the stream take others away
--   kept back 0 of the error: rows are exact

-- without a window, as written
SELECT sym FROM orders [RANGE UNBOUNDED];
-- plan:
--   Select sym
--     Window unbounded
--       Scan orders (sym, size)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                 owed exact, rows that come and go, from history
--     Select sym                     spends 0, keeps nothing, not shared
--       Window unbounded             spends 0, keeps every row of orders as it takes rows back, not shared
--         Scan orders (sym, size)    files, tick 1 s, late rows dropped
--   memory unbounded: every row of orders as it takes rows back
--   store of orders: unbounded
--   placed on one of 4 shards with the views over the same windows
--   rows of orders: read by one shard: rows of the stream take others away
--   kept back 0 of the error: rows are exact

-- distinct ones
SELECT DISTINCT sym FROM orders;
-- plan:
--   Distinct
--     Select sym
--       Window unbounded
--         Scan orders (sym, size)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                   owed exact, rows that come and go, from history
--     Distinct                         spends 0, keeps each different row with its count, not shared
--       Select sym                     spends 0, keeps nothing, not shared
--         Window unbounded             spends 0, keeps every row of orders as it takes rows back, not shared
--           Scan orders (sym, size)    files, tick 1 s, late rows dropped
--   memory unbounded: every row of orders as it takes rows back
--   store of orders: unbounded
--   placed on one of 4 shards with the views over the same windows
--   rows of orders: read by one shard: rows of the stream take others away
--   kept back 0 of the error: rows are exact

-- the largest
SELECT sym, size FROM orders ORDER BY size DESC LIMIT 5;
-- plan:
--   First 5 by size desc
--     Window unbounded
--       Scan orders (sym, size)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                 owed exact, rows that come and go, from history
--     First 5 by size desc           spends 0, keeps nothing, not shared
--       Window unbounded             spends 0, keeps every row of orders as it takes rows back, not shared
--         Scan orders (sym, size)    files, tick 1 s, late rows dropped
--   memory unbounded: every row of orders as it takes rows back
--   store of orders: unbounded
--   placed on one of 4 shards with the views over the same windows
--   rows of orders: read by one shard: the first rows are those of the whole result
--   kept back 0 of the error: rows are exact
