-- what comes
SELECT ISTREAM(sym, price) FROM trades [RANGE 1 MINUTE] WHERE price > 10;
-- plan:
--   Stream of what comes
--     Window range 1 min
--       Where price > 10
--         Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                    owed exact, a stream of rows, from history
--     Stream of what comes              spends 0, keeps nothing, not shared
--       Window range 1 min              spends 0, keeps rows of trades for range 1 min, not shared
--         Where price > 10              spends 0, keeps nothing, not shared
--           Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on one of 4 shards with the views over the same windows
--   kept back 0 of the error: rows are exact

-- what goes
SELECT DSTREAM(sym, price) FROM trades [RANGE 1 MINUTE] WHERE price > 10;
-- plan:
--   Stream of what goes
--     Window range 1 min
--       Where price > 10
--         Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                    owed exact, a stream of rows, from history
--     Stream of what goes               spends 0, keeps nothing, not shared
--       Window range 1 min              spends 0, keeps rows of trades for range 1 min, not shared
--         Where price > 10              spends 0, keeps nothing, not shared
--           Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on one of 4 shards with the views over the same windows
--   kept back 0 of the error: rows are exact

-- what is there
SELECT RSTREAM(sym, price) FROM trades [RANGE 1 MINUTE] WHERE price > 10;
-- plan:
--   Stream of what is there
--     Window range 1 min
--       Where price > 10
--         Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                    owed exact, a stream of rows, from history
--     Stream of what is there           spends 0, keeps nothing, not shared
--       Window range 1 min              spends 0, keeps rows of trades for range 1 min, not shared
--         Where price > 10              spends 0, keeps nothing, not shared
--           Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on one of 4 shards with the views over the same windows
--   kept back 0 of the error: rows are exact

-- what is there, every so often
SELECT RSTREAM(sym, price) FROM trades [RANGE 1 MINUTE] EVERY 10 SECONDS;
-- plan:
--   Stream of what is there
--     Window range 1 min
--       Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                 owed exact, a stream of rows, from history
--     Stream of what is there         spends 0, keeps nothing, not shared
--       Window range 1 min            spends 0, keeps rows of trades for range 1 min, not shared
--         Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on one of 4 shards with the views over the same windows
--   kept back 0 of the error: rows are exact

-- all columns of what comes
SELECT ISTREAM(*) FROM trades [RANGE UNBOUNDED] WHERE price > 10;
-- plan:
--   Stream of what comes
--     Window unbounded
--       Where price > 10
--         Scan trades (sym, ts, price, size, buy)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                   owed exact, a stream of rows, from history
--     Stream of what comes                             spends 0, keeps nothing, not shared
--       Window unbounded                               spends 0, keeps nothing, not shared
--         Where price > 10                             spends 0, keeps nothing, not shared
--           Scan trades (sym, ts, price, size, buy)    files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- around a query
ISTREAM (SELECT sym FROM trades [RANGE 1 MINUTE] WHERE price > 10);
-- plan:
--   Stream of what comes
--     Select sym
--       Window range 1 min
--         Where price > 10
--           Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                      owed exact, a stream of rows, from history
--     Stream of what comes                spends 0, keeps nothing, not shared
--       Select sym                        spends 0, keeps nothing, not shared
--         Window range 1 min              spends 0, keeps rows of trades for range 1 min, not shared
--           Where price > 10              spends 0, keeps nothing, not shared
--             Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on one of 4 shards with the views over the same windows
--   kept back 0 of the error: rows are exact

-- of groups
SELECT ISTREAM(sym, COUNT(*) AS n) FROM trades [RANGE 1 MINUTE] GROUP BY sym;
-- plan:
--   Stream of what comes
--     Select sym, COUNT(*) as n
--       Group COUNT(*) by sym
--         Window range 1 min
--           Scan trades (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                 owed exact, a stream of rows, from history
--     Stream of what comes           spends 0, keeps nothing, not shared
--       Select sym, COUNT(*) as n    spends 0, keeps nothing, not shared
--         Group COUNT(*) by sym      spends 0, keeps one row for each sym, shared by 2 queries
--           Window range 1 min       spends 0, keeps rows of trades for range 1 min, shared by 2 queries
--             Scan trades (sym)      files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on one of 4 shards with the views over the same windows
--   kept back 0 of the error: rows are exact

-- of a join
SELECT ISTREAM(t.sym, q.bid) FROM trades [NOW] t JOIN quotes [PARTITION BY sym ROWS 1] q ON t.sym = q.sym;
-- plan:
--   Stream of what comes
--     Select t.sym as sym, q.bid as bid
--       Join t, q on t.sym = q.sym
--         Window now
--           Scan trades (sym)
--         Window partition by sym rows 1
--           Scan quotes (sym, bid)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                          owed exact, a stream of rows, from history
--     Stream of what comes                    spends 0, keeps nothing, not shared
--       Select t.sym as sym, q.bid as bid     spends 0, keeps nothing, not shared
--         Join t, q on t.sym = q.sym          spends 0, keeps rows of its inputs, not shared
--           Window now                        spends 0, keeps rows of trades for now, not shared
--             Scan trades (sym)               files, tick 1 s, late rows dropped
--           Window partition by sym rows 1    spends 0, keeps 1 rows of quotes for each sym, not shared
--             Scan quotes (sym, bid)          files, tick 1 s, late rows waited for 5 s
--   memory window: rows of trades for now
--   store of quotes: partition by sym rows 1
--   store of trades: now
--   placed on one of 4 shards with the views over the same windows
--   kept back 0 of the error: rows are exact

-- a selection is a stream by itself
SELECT sym, price FROM trades WHERE price > 20;

-- a window makes a relation
SELECT sym, price FROM trades [ROWS UNBOUNDED] WHERE price > 10;
-- plan:
--   Window unbounded
--     Where price > 10
--       Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                  owed exact, rows that come and go, from history
--     Window unbounded                spends 0, keeps nothing, not shared
--       Where price > 10              spends 0, keeps nothing, not shared
--         Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed on one of 4 shards with the views over the same windows
--   kept back 0 of the error: rows are exact

-- a stream inside is its relation
SELECT sym FROM (SELECT ISTREAM(*) FROM trades [RANGE UNBOUNDED]) x WHERE price > 1;
-- plan:
--   Select sym
--     Window unbounded
--       Where price > 1
--         Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                    owed exact, rows that come and go, from history
--     Select sym                        spends 0, keeps nothing, not shared
--       Window unbounded                spends 0, keeps nothing, not shared
--         Where price > 1               spends 0, keeps nothing, not shared
--           Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed on one of 4 shards with the views over the same windows
--   kept back 0 of the error: rows are exact

-- what goes in the order of going
SELECT DSTREAM(*) FROM trades [ROWS 10];
-- plan:
--   Stream of what goes
--     Window rows 10
--       Scan trades (sym, ts, price, size, buy)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                 owed exact, a stream of rows, from history
--     Stream of what goes                            spends 0, keeps nothing, not shared
--       Window rows 10                               spends 0, keeps 10 rows of trades, not shared
--         Scan trades (sym, ts, price, size, buy)    files, tick 1 s, late rows dropped
--   memory bounded: 10 rows of trades
--   store of trades: rows 10
--   placed on one of 4 shards with the views over the same windows
--   kept back 0 of the error: rows are exact

-- of a set
ISTREAM (SELECT sym FROM trades [NOW] INTERSECT SELECT sym FROM quotes [NOW]);
-- plan:
--   Stream of what comes
--     Intersect
--       Window now
--         Scan trades (sym)
--       Window now
--         Scan quotes (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change             owed exact, a stream of rows, from history
--     Stream of what comes       spends 0, keeps nothing, not shared
--       Intersect                spends 0, keeps each different row with its count, not shared
--         Window now             spends 0, keeps rows of trades for now, not shared
--           Scan trades (sym)    files, tick 1 s, late rows dropped
--         Window now             spends 0, keeps rows of quotes for now, not shared
--           Scan quotes (sym)    files, tick 1 s, late rows waited for 5 s
--   memory window: rows of trades for now
--   store of quotes: now
--   store of trades: now
--   placed on one of 4 shards with the views over the same windows
--   kept back 0 of the error: rows are exact
