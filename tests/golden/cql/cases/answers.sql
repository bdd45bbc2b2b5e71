-- numbers as rows
SELECT * FROM heat;
-- plan:
--   Select sym, value, low as value.low, high as value.high, low, high, 1.0 as confidence
--     Answers of heat
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                           owed exact, rows that come and go, from history
--     Select sym, value, low as value.low, high as value.high, low, high, 1.0 as confidence    spends 0, keeps nothing, not shared
--       Answers of heat                                                                        spends 0, keeps newest answers of heat, not shared
--   memory groups: newest answers of heat
--   store of trades: no row is kept
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: answers of a query are read as rows
--   kept back 0 of the error: rows are exact

-- a condition on values
SELECT sym, value FROM heat WHERE value > 10;
-- plan:
--   Select sym, value, low as value.low, high as value.high, 1.0 as confidence
--     Where value > 10
--       Answers of heat
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                owed exact, rows that come and go, from history
--     Select sym, value, low as value.low, high as value.high, 1.0 as confidence    spends 0, keeps nothing, not shared
--       Where value > 10                                                            spends 0, keeps nothing, not shared
--         Answers of heat                                                           spends 0, keeps newest answers of heat, not shared
--   memory groups: newest answers of heat
--   store of trades: no row is kept
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: answers of a query are read as rows
--   kept back 0 of the error: rows are exact

-- computed values have computed bars
SELECT sym, value * 2 + 1 AS scaled, -value AS less FROM heat;
-- plan:
--   Select sym, value * 2 + 1 as scaled, least(low * 2, high * 2) + 1 as scaled.low, greatest(low * 2, high * 2) + 1 as scaled.high, -value as less, -high as less.low, -low as less.high, 1.0 as confidence
--     Answers of heat
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                                                                                                                                              owed exact, rows that come and go, from history
--     Select sym, value * 2 + 1 as scaled, least(low * 2, high * 2) + 1 as scaled.low, greatest(low * 2, high * 2) + 1 as scaled.high, -value as less, -high as less.low, -low as less.high, 1.0 as confidence    spends 0, keeps nothing, not shared
--       Answers of heat                                                                                                                                                                                           spends 0, keeps newest answers of heat, not shared
--   memory groups: newest answers of heat
--   store of trades: no row is kept
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: answers of a query are read as rows
--   kept back 0 of the error: rows are exact

-- a quotient
SELECT sym, 100 / value AS turned FROM heat;
-- plan:
--   Select sym, 100 / value as turned, CASE WHEN low * high <= 0 THEN CAST(NULL AS FLOAT) ELSE least(100 / low, 100 / high) END as turned.low, CASE WHEN low * high <= 0 THEN CAST(NULL AS FLOAT) ELSE greatest(100 / low, 100 / high) END as turned.high, 1.0 as confidence
--     Answers of heat
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                                                                                                                                                                                                              owed exact, rows that come and go, from history
--     Select sym, 100 / value as turned, CASE WHEN low * high <= 0 THEN CAST(NULL AS FLOAT) ELSE least(100 / low, 100 / high) END as turned.low, CASE WHEN low * high <= 0 THEN CAST(NULL AS FLOAT) ELSE greatest(100 / low, 100 / high) END as turned.high, 1.0 as confidence    spends 0, keeps nothing, not shared
--       Answers of heat                                                                                                                                                                                                                                                           spends 0, keeps newest answers of heat, not shared
--   memory groups: newest answers of heat
--   store of trades: no row is kept
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: answers of a query are read as rows
--   kept back 0 of the error: rows are exact

-- aggregates of values
SELECT MAX(value) AS top, AVG(value) AS mean FROM heat;
-- plan:
--   Select MAX(value) as top, MAX(value).low as top.low, MAX(value).high as top.high, AVG(value) as mean, AVG(value).low as mean.low, AVG(value).high as mean.high, greatest(0.0, 1.0 - coalesce(coalesce(failing, 0.0), 0.0)) as confidence
--     Group MAX(value), AVG(value), MAX(low) as MAX(value).low, MAX(high) as MAX(value).high, AVG(low) as AVG(value).low, AVG(high) as AVG(value).high, SUM(coalesce(failing, 0.0)) as failing
--       Select value, low, high, 0.0 as failing
--         Answers of heat
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                                                                                                                                                                              owed exact, rows that come and go, from history
--     Select MAX(value) as top, MAX(value).low as top.low, MAX(value).high as top.high, AVG(value) as mean, AVG(value).low as mean.low, AVG(value).high as mean.high, greatest(0.0, 1.0 - coalesce(coalesce(failing, 0.0), 0.0)) as confidence    spends 0, keeps nothing, not shared
--       Group MAX(value), AVG(value), MAX(low) as MAX(value).low, MAX(high) as MAX(value).high, AVG(low) as AVG(value).low, AVG(high) as AVG(value).high, SUM(coalesce(failing, 0.0)) as failing                                                  spends 0, keeps one row, not shared
--         Select value, low, high, 0.0 as failing                                                                                                                                                                                                 spends 0, keeps nothing, not shared
--           Answers of heat                                                                                                                                                                                                                       spends 0, keeps newest answers of heat, not shared
--   memory groups: newest answers of heat
--   store of trades: no row is kept
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: answers of a query are read as rows
--   kept back 0 of the error: rows are exact

-- approximate numbers
SELECT value FROM users;
-- plan:
--   Select value, low as value.low, high as value.high, 0.95 as confidence
--     Answers of users
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                            owed exact, rows that come and go, from history
--     Select value, low as value.low, high as value.high, 0.95 as confidence    spends 0, keeps nothing, not shared
--       Answers of users                                                        spends 0, keeps newest answers of users, not shared
--   memory bounded: newest answers of users
--   store of trades: no row is kept
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: answers of a query are read as rows
--   kept back 0 of the error: rows are exact

-- joined with rows
SELECT t.sym, t.price - h.value AS above FROM trades [NOW] t JOIN heat h ON t.sym = h.sym;
-- plan:
--   Select t.sym as sym, t.price - h.value as above, t.price - h.high as above.low, t.price - h.low as above.high, greatest(0.0, 1.0 - coalesce(coalesce(h.failing, 0.0), 0.0)) as confidence
--     Join t, h on t.sym = h.sym
--       Window now
--         Scan trades (sym, price)
--       Select sym, value, low, high, 0.0 as failing
--         Answers of heat
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                                                                                                                               owed exact, rows that come and go, from history
--     Select t.sym as sym, t.price - h.value as above, t.price - h.high as above.low, t.price - h.low as above.high, greatest(0.0, 1.0 - coalesce(coalesce(h.failing, 0.0), 0.0)) as confidence    spends 0, keeps nothing, not shared
--       Join t, h on t.sym = h.sym                                                                                                                                                                 spends 0, keeps rows of its inputs, not shared
--         Window now                                                                                                                                                                               spends 0, keeps rows of trades for now, not shared
--           Scan trades (sym, price)                                                                                                                                                               files, tick 1 s, late rows dropped
--         Select sym, value, low, high, 0.0 as failing                                                                                                                                             spends 0, keeps nothing, not shared
--           Answers of heat                                                                                                                                                                        spends 0, keeps newest answers of heat, not shared
--   memory window: rows of trades for now
--   store of trades: now
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: answers of a query are read as rows
--   kept back 0 of the error: rows are exact

-- joined with other numbers
SELECT h.sym, h.value / u.value AS share FROM heat h CROSS JOIN users u;
-- plan:
--   Select h.sym as sym, h.value / u.value as share, CASE WHEN u.low * u.high <= 0 THEN CAST(NULL AS FLOAT) ELSE least(h.low / u.low, h.low / u.high, h.high / u.low, h.high / u.high) END as share.low, CASE WHEN u.low * u.high <= 0 THEN CAST(NULL AS FLOAT) ELSE greatest(h.low / u.low, h.low / u.high, h.high / u.low, h.high / u.high) END as share.high, greatest(0.0, 1.0 - coalesce(coalesce(h.failing, 0.0) + coalesce(u.failing, 0.0), 0.0)) as confidence
--     Join h, u
--       Select sym, value, low, high, 0.0 as failing
--         Answers of heat
--       Select value, low, high, 0.05 as failing
--         Answers of users
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                                                                                                                                                                                                                                                                                                                                                                                                        owed exact, rows that come and go, from history
--     Select h.sym as sym, h.value / u.value as share, CASE WHEN u.low * u.high <= 0 THEN CAST(NULL AS FLOAT) ELSE least(h.low / u.low, h.low / u.high, h.high / u.low, h.high / u.high) END as share.low, CASE WHEN u.low * u.high <= 0 THEN CAST(NULL AS FLOAT) ELSE greatest(h.low / u.low, h.low / u.high, h.high / u.low, h.high / u.high) END as share.high, greatest(0.0, 1.0 - coalesce(coalesce(h.failing, 0.0) + coalesce(u.failing, 0.0), 0.0)) as confidence    spends 0, keeps nothing, not shared
--       Join h, u                                                                                                                                                                                                                                                                                                                                                                                                                                                           spends 0, keeps rows of its inputs, not shared
--         Select sym, value, low, high, 0.0 as failing                                                                                                                                                                                                                                                                                                                                                                                                                      spends 0, keeps nothing, not shared
--           Answers of heat                                                                                                                                                                                                                                                                                                                                                                                                                                                 spends 0, keeps newest answers of heat, not shared
--         Select value, low, high, 0.05 as failing                                                                                                                                                                                                                                                                                                                                                                                                                          spends 0, keeps nothing, not shared
--           Answers of users                                                                                                                                                                                                                                                                                                                                                                                                                                                spends 0, keeps newest answers of users, not shared
--   memory groups: newest answers of heat
--   store of trades: no row is kept
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: answers of a query are read as rows
--   kept back 0 of the error: rows are exact

-- ordered
SELECT sym, value FROM heat ORDER BY value DESC LIMIT 3;
-- plan:
--   Select sym, value, value.low, value.high, greatest(0.0, 1.0 - coalesce(failing, 0.0)) as confidence
--     First 3 by value desc
--       Select sym, value, low as value.low, high as value.high, 0.0 as failing
--         Answers of heat
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                                         owed exact, rows that come and go, from history
--     Select sym, value, value.low, value.high, greatest(0.0, 1.0 - coalesce(failing, 0.0)) as confidence    spends 0, keeps nothing, not shared
--       First 3 by value desc                                                                                spends 0, keeps nothing, not shared
--         Select sym, value, low as value.low, high as value.high, 0.0 as failing                            spends 0, keeps nothing, not shared
--           Answers of heat                                                                                  spends 0, keeps newest answers of heat, not shared
--   memory groups: newest answers of heat
--   store of trades: no row is kept
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: the first rows are those of the whole result
--   kept back 0 of the error: rows are exact

-- a stream of alarms
SELECT ISTREAM(sym, value) FROM heat WHERE value > 100;
-- plan:
--   Stream of what comes
--     Select sym, value, low as value.low, high as value.high, 1.0 as confidence
--       Where value > 100
--         Answers of heat
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                  owed exact, a stream of rows, from history
--     Stream of what comes                                                            spends 0, keeps nothing, not shared
--       Select sym, value, low as value.low, high as value.high, 1.0 as confidence    spends 0, keeps nothing, not shared
--         Where value > 100                                                           spends 0, keeps nothing, not shared
--           Answers of heat                                                           spends 0, keeps newest answers of heat, not shared
--   memory groups: newest answers of heat
--   store of trades: no row is kept
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: answers of a query are read as rows
--   kept back 0 of the error: rows are exact

-- one of several numbers
SELECT value FROM "top[A].high";
-- plan:
--   Select value, low as value.low, high as value.high, 1.0 as confidence
--     Answers of top[A].high
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                           owed exact, rows that come and go, from history
--     Select value, low as value.low, high as value.high, 1.0 as confidence    spends 0, keeps nothing, not shared
--       Answers of top[A].high                                                 spends 0, keeps newest answers of top[A].high, not shared
--   memory bounded: newest answers of top[A].high
--   store of trades: no row is kept
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: answers of a query are read as rows
--   kept back 0 of the error: rows are exact
