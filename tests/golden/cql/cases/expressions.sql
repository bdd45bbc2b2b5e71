-- sum and difference
SELECT price + 1 AS a, price - size AS b FROM trades;
-- plan:
--   Stream of what comes
--     Select price + 1 as a, price - size as b
--       Window unbounded
--         Scan trades (price, size)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                owed exact, a stream of rows, from history
--     Stream of what comes                          spends 0, keeps nothing, not shared
--       Select price + 1 as a, price - size as b    spends 0, keeps nothing, not shared
--         Window unbounded                          spends 0, keeps nothing, not shared
--           Scan trades (price, size)               files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- product and quotient
SELECT price * size AS a, price / size AS b FROM trades;
-- plan:
--   Stream of what comes
--     Select price * size as a, price / size as b
--       Window unbounded
--         Scan trades (price, size)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                   owed exact, a stream of rows, from history
--     Stream of what comes                             spends 0, keeps nothing, not shared
--       Select price * size as a, price / size as b    spends 0, keeps nothing, not shared
--         Window unbounded                             spends 0, keeps nothing, not shared
--           Scan trades (price, size)                  files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- remainder
SELECT size % 7 AS a FROM trades;
-- plan:
--   Stream of what comes
--     Select size % 7 as a
--       Window unbounded
--         Scan trades (size)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change              owed exact, a stream of rows, from history
--     Stream of what comes        spends 0, keeps nothing, not shared
--       Select size % 7 as a      spends 0, keeps nothing, not shared
--         Window unbounded        spends 0, keeps nothing, not shared
--           Scan trades (size)    files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- signs
SELECT -price AS a, +size AS b, -3 AS c FROM trades;
-- plan:
--   Stream of what comes
--     Select -price as a, size as b, -3 as c
--       Window unbounded
--         Scan trades (price, size)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                              owed exact, a stream of rows, from history
--     Stream of what comes                        spends 0, keeps nothing, not shared
--       Select -price as a, size as b, -3 as c    spends 0, keeps nothing, not shared
--         Window unbounded                        spends 0, keeps nothing, not shared
--           Scan trades (price, size)             files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- order of operations
SELECT price + size * 2 - (price - 1) / 2 AS a FROM trades;
-- plan:
--   Stream of what comes
--     Select price + size * 2 - (price - 1) / 2 as a
--       Window unbounded
--         Scan trades (price, size)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                      owed exact, a stream of rows, from history
--     Stream of what comes                                spends 0, keeps nothing, not shared
--       Select price + size * 2 - (price - 1) / 2 as a    spends 0, keeps nothing, not shared
--         Window unbounded                                spends 0, keeps nothing, not shared
--           Scan trades (price, size)                     files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- brackets that are needed
SELECT (price + 1) * (price - 1) AS a FROM trades;
-- plan:
--   Stream of what comes
--     Select (price + 1) * (price - 1) as a
--       Window unbounded
--         Scan trades (price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                             owed exact, a stream of rows, from history
--     Stream of what comes                       spends 0, keeps nothing, not shared
--       Select (price + 1) * (price - 1) as a    spends 0, keeps nothing, not shared
--         Window unbounded                       spends 0, keeps nothing, not shared
--           Scan trades (price)                  files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- joined texts
SELECT sym || '!' AS a FROM trades;
-- plan:
--   Stream of what comes
--     Select sym || '!' as a
--       Window unbounded
--         Scan trades (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change              owed exact, a stream of rows, from history
--     Stream of what comes        spends 0, keeps nothing, not shared
--       Select sym || '!' as a    spends 0, keeps nothing, not shared
--         Window unbounded        spends 0, keeps nothing, not shared
--           Scan trades (sym)     files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- comparisons
SELECT price = 1 AS a, price != 1 AS b, price <> 2 AS c FROM trades;
-- plan:
--   Stream of what comes
--     Select price = 1 as a, price != 1 as b, price != 2 as c
--       Window unbounded
--         Scan trades (price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                               owed exact, a stream of rows, from history
--     Stream of what comes                                         spends 0, keeps nothing, not shared
--       Select price = 1 as a, price != 1 as b, price != 2 as c    spends 0, keeps nothing, not shared
--         Window unbounded                                         spends 0, keeps nothing, not shared
--           Scan trades (price)                                    files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- smaller and larger
SELECT price < 1 AS a, price <= 1 AS b, price > 1 AS c, price >= 1 AS d FROM trades;
-- plan:
--   Stream of what comes
--     Select price < 1 as a, price <= 1 as b, price > 1 as c, price >= 1 as d
--       Window unbounded
--         Scan trades (price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                               owed exact, a stream of rows, from history
--     Stream of what comes                                                         spends 0, keeps nothing, not shared
--       Select price < 1 as a, price <= 1 as b, price > 1 as c, price >= 1 as d    spends 0, keeps nothing, not shared
--         Window unbounded                                                         spends 0, keeps nothing, not shared
--           Scan trades (price)                                                    files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- logic
SELECT NOT buy AS a, buy AND price > 1 AS b, buy OR price > 1 AS c FROM trades;
-- plan:
--   Stream of what comes
--     Select NOT buy as a, buy AND price > 1 as b, buy OR price > 1 as c
--       Window unbounded
--         Scan trades (price, buy)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                          owed exact, a stream of rows, from history
--     Stream of what comes                                                    spends 0, keeps nothing, not shared
--       Select NOT buy as a, buy AND price > 1 as b, buy OR price > 1 as c    spends 0, keeps nothing, not shared
--         Window unbounded                                                    spends 0, keeps nothing, not shared
--           Scan trades (price, buy)                                          files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- between
SELECT sym FROM trades WHERE price BETWEEN 10 AND 20;
-- plan:
--   Stream of what comes
--     Select sym
--       Window unbounded
--         Where price BETWEEN 10 AND 20
--           Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                         owed exact, a stream of rows, from history
--     Stream of what comes                   spends 0, keeps nothing, not shared
--       Select sym                           spends 0, keeps nothing, not shared
--         Window unbounded                   spends 0, keeps nothing, not shared
--           Where price BETWEEN 10 AND 20    spends 0, keeps nothing, not shared
--             Scan trades (sym, price)       files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- not between
SELECT sym FROM trades WHERE price NOT BETWEEN 10 AND 20;
-- plan:
--   Stream of what comes
--     Select sym
--       Window unbounded
--         Where NOT price BETWEEN 10 AND 20
--           Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                             owed exact, a stream of rows, from history
--     Stream of what comes                       spends 0, keeps nothing, not shared
--       Select sym                               spends 0, keeps nothing, not shared
--         Window unbounded                       spends 0, keeps nothing, not shared
--           Where NOT price BETWEEN 10 AND 20    spends 0, keeps nothing, not shared
--             Scan trades (sym, price)           files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- in a list
SELECT price FROM trades WHERE sym IN ('A', 'B');
-- plan:
--   Stream of what comes
--     Select price
--       Window unbounded
--         Where sym IN ('A', 'B')
--           Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                      owed exact, a stream of rows, from history
--     Stream of what comes                spends 0, keeps nothing, not shared
--       Select price                      spends 0, keeps nothing, not shared
--         Window unbounded                spends 0, keeps nothing, not shared
--           Where sym IN ('A', 'B')       spends 0, keeps nothing, not shared
--             Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- not in a list
SELECT price FROM trades WHERE sym NOT IN ('A', 'B');
-- plan:
--   Stream of what comes
--     Select price
--       Window unbounded
--         Where NOT sym IN ('A', 'B')
--           Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                       owed exact, a stream of rows, from history
--     Stream of what comes                 spends 0, keeps nothing, not shared
--       Select price                       spends 0, keeps nothing, not shared
--         Window unbounded                 spends 0, keeps nothing, not shared
--           Where NOT sym IN ('A', 'B')    spends 0, keeps nothing, not shared
--             Scan trades (sym, price)     files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- like
SELECT price FROM trades WHERE sym LIKE 'A%';
-- plan:
--   Stream of what comes
--     Select price
--       Window unbounded
--         Where sym LIKE 'A%'
--           Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                      owed exact, a stream of rows, from history
--     Stream of what comes                spends 0, keeps nothing, not shared
--       Select price                      spends 0, keeps nothing, not shared
--         Window unbounded                spends 0, keeps nothing, not shared
--           Where sym LIKE 'A%'           spends 0, keeps nothing, not shared
--             Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- not like
SELECT price FROM trades WHERE sym NOT LIKE '_A%';
-- plan:
--   Stream of what comes
--     Select price
--       Window unbounded
--         Where NOT sym LIKE '_A%'
--           Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                      owed exact, a stream of rows, from history
--     Stream of what comes                spends 0, keeps nothing, not shared
--       Select price                      spends 0, keeps nothing, not shared
--         Window unbounded                spends 0, keeps nothing, not shared
--           Where NOT sym LIKE '_A%'      spends 0, keeps nothing, not shared
--             Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- null
SELECT sym FROM trades WHERE price IS NULL;
-- plan:
--   Stream of what comes
--     Select sym
--       Window unbounded
--         Where price IS NULL
--           Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                      owed exact, a stream of rows, from history
--     Stream of what comes                spends 0, keeps nothing, not shared
--       Select sym                        spends 0, keeps nothing, not shared
--         Window unbounded                spends 0, keeps nothing, not shared
--           Where price IS NULL           spends 0, keeps nothing, not shared
--             Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- not null
SELECT sym FROM trades WHERE price IS NOT NULL;
-- plan:
--   Stream of what comes
--     Select sym
--       Window unbounded
--         Where NOT price IS NULL
--           Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                      owed exact, a stream of rows, from history
--     Stream of what comes                spends 0, keeps nothing, not shared
--       Select sym                        spends 0, keeps nothing, not shared
--         Window unbounded                spends 0, keeps nothing, not shared
--           Where NOT price IS NULL       spends 0, keeps nothing, not shared
--             Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- a null constant
SELECT NULL AS nothing, sym FROM trades;
-- plan:
--   Stream of what comes
--     Select NULL as nothing, sym
--       Window unbounded
--         Scan trades (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                   owed exact, a stream of rows, from history
--     Stream of what comes             spends 0, keeps nothing, not shared
--       Select NULL as nothing, sym    spends 0, keeps nothing, not shared
--         Window unbounded             spends 0, keeps nothing, not shared
--           Scan trades (sym)          files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- case with conditions
SELECT CASE WHEN price > 10 THEN 'dear' WHEN price > 5 THEN 'fair' ELSE 'cheap' END AS a FROM trades;
-- plan:
--   Stream of what comes
--     Select CASE WHEN price > 10 THEN 'dear' WHEN price > 5 THEN 'fair' ELSE 'cheap' END as a
--       Window unbounded
--         Scan trades (price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                                owed exact, a stream of rows, from history
--     Stream of what comes                                                                          spends 0, keeps nothing, not shared
--       Select CASE WHEN price > 10 THEN 'dear' WHEN price > 5 THEN 'fair' ELSE 'cheap' END as a    spends 0, keeps nothing, not shared
--         Window unbounded                                                                          spends 0, keeps nothing, not shared
--           Scan trades (price)                                                                     files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- case of a value
SELECT CASE sym WHEN 'A' THEN 1 WHEN 'B' THEN 2 END AS a FROM trades;
-- plan:
--   Stream of what comes
--     Select CASE WHEN sym = 'A' THEN 1 WHEN sym = 'B' THEN 2 ELSE NULL END as a
--       Window unbounded
--         Scan trades (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                  owed exact, a stream of rows, from history
--     Stream of what comes                                                            spends 0, keeps nothing, not shared
--       Select CASE WHEN sym = 'A' THEN 1 WHEN sym = 'B' THEN 2 ELSE NULL END as a    spends 0, keeps nothing, not shared
--         Window unbounded                                                            spends 0, keeps nothing, not shared
--           Scan trades (sym)                                                         files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- casts
SELECT CAST(size AS FLOAT) AS a, CAST(price AS INT) AS b, CAST(size AS STRING) AS c FROM trades;
-- plan:
--   Stream of what comes
--     Select CAST(size AS FLOAT) as a, CAST(price AS INT) as b, CAST(size AS STRING) as c
--       Window unbounded
--         Scan trades (price, size)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                           owed exact, a stream of rows, from history
--     Stream of what comes                                                                     spends 0, keeps nothing, not shared
--       Select CAST(size AS FLOAT) as a, CAST(price AS INT) as b, CAST(size AS STRING) as c    spends 0, keeps nothing, not shared
--         Window unbounded                                                                     spends 0, keeps nothing, not shared
--           Scan trades (price, size)                                                          files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- casts to bool and time
SELECT CAST(size AS BOOL) AS a, CAST('2026-01-01' AS TIME) AS b FROM trades;
-- plan:
--   Stream of what comes
--     Select CAST(size AS BOOL) as a, CAST('2026-01-01' AS TIME) as b
--       Window unbounded
--         Scan trades (size)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                       owed exact, a stream of rows, from history
--     Stream of what comes                                                 spends 0, keeps nothing, not shared
--       Select CAST(size AS BOOL) as a, CAST('2026-01-01' AS TIME) as b    spends 0, keeps nothing, not shared
--         Window unbounded                                                 spends 0, keeps nothing, not shared
--           Scan trades (size)                                             files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- times and durations
SELECT ts + INTERVAL 5 MINUTES AS a, ts - TIMESTAMP '2026-01-01' AS b FROM trades;
-- plan:
--   Stream of what comes
--     Select ts + INTERVAL '5 min' as a, ts - TIMESTAMP '2026-01-01T00:00:00Z' as b
--       Window unbounded
--         Scan trades (ts)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                     owed exact, a stream of rows, from history
--     Stream of what comes                                                               spends 0, keeps nothing, not shared
--       Select ts + INTERVAL '5 min' as a, ts - TIMESTAMP '2026-01-01T00:00:00Z' as b    spends 0, keeps nothing, not shared
--         Window unbounded                                                               spends 0, keeps nothing, not shared
--           Scan trades (ts)                                                             files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- an interval in quotes
SELECT ts - INTERVAL '5' MINUTE AS a FROM trades;
-- plan:
--   Stream of what comes
--     Select ts - INTERVAL '5 min' as a
--       Window unbounded
--         Scan trades (ts)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                         owed exact, a stream of rows, from history
--     Stream of what comes                   spends 0, keeps nothing, not shared
--       Select ts - INTERVAL '5 min' as a    spends 0, keeps nothing, not shared
--         Window unbounded                   spends 0, keeps nothing, not shared
--           Scan trades (ts)                 files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- absolute value and sign
SELECT abs(price) AS a, sign(price) AS b FROM trades;
-- plan:
--   Stream of what comes
--     Select abs(price) as a, sign(price) as b
--       Window unbounded
--         Scan trades (price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                owed exact, a stream of rows, from history
--     Stream of what comes                          spends 0, keeps nothing, not shared
--       Select abs(price) as a, sign(price) as b    spends 0, keeps nothing, not shared
--         Window unbounded                          spends 0, keeps nothing, not shared
--           Scan trades (price)                     files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- rounding
SELECT round(price) AS a, round(price, 2) AS b, floor(price) AS c, ceil(price) AS d FROM trades;
-- plan:
--   Stream of what comes
--     Select round(price) as a, round(price, 2) as b, floor(price) as c, ceil(price) as d
--       Window unbounded
--         Scan trades (price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                           owed exact, a stream of rows, from history
--     Stream of what comes                                                                     spends 0, keeps nothing, not shared
--       Select round(price) as a, round(price, 2) as b, floor(price) as c, ceil(price) as d    spends 0, keeps nothing, not shared
--         Window unbounded                                                                     spends 0, keeps nothing, not shared
--           Scan trades (price)                                                                files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- roots, powers and logarithms
SELECT sqrt(price) AS a, power(price, 2) AS b, exp(price) AS c, ln(price) AS d, log10(price) AS e FROM trades;
-- plan:
--   Stream of what comes
--     Select sqrt(price) as a, power(price, 2) as b, exp(price) as c, ln(price) as d, log10(price) as e
--       Window unbounded
--         Scan trades (price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                                         owed exact, a stream of rows, from history
--     Stream of what comes                                                                                   spends 0, keeps nothing, not shared
--       Select sqrt(price) as a, power(price, 2) as b, exp(price) as c, ln(price) as d, log10(price) as e    spends 0, keeps nothing, not shared
--         Window unbounded                                                                                   spends 0, keeps nothing, not shared
--           Scan trades (price)                                                                              files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- least and greatest
SELECT least(price, size) AS a, greatest(price, 1, size) AS b FROM trades;
-- plan:
--   Stream of what comes
--     Select least(price, size) as a, greatest(price, 1, size) as b
--       Window unbounded
--         Scan trades (price, size)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                     owed exact, a stream of rows, from history
--     Stream of what comes                                               spends 0, keeps nothing, not shared
--       Select least(price, size) as a, greatest(price, 1, size) as b    spends 0, keeps nothing, not shared
--         Window unbounded                                               spends 0, keeps nothing, not shared
--           Scan trades (price, size)                                    files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- nulls replaced
SELECT coalesce(price, 0) AS a, nullif(size, 0) AS b FROM trades;
-- plan:
--   Stream of what comes
--     Select coalesce(price, 0) as a, nullif(size, 0) as b
--       Window unbounded
--         Scan trades (price, size)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                            owed exact, a stream of rows, from history
--     Stream of what comes                                      spends 0, keeps nothing, not shared
--       Select coalesce(price, 0) as a, nullif(size, 0) as b    spends 0, keeps nothing, not shared
--         Window unbounded                                      spends 0, keeps nothing, not shared
--           Scan trades (price, size)                           files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- if
SELECT if(buy, price, -price) AS a FROM trades;
-- plan:
--   Stream of what comes
--     Select if(buy, price, -price) as a
--       Window unbounded
--         Scan trades (price, buy)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                          owed exact, a stream of rows, from history
--     Stream of what comes                    spends 0, keeps nothing, not shared
--       Select if(buy, price, -price) as a    spends 0, keeps nothing, not shared
--         Window unbounded                    spends 0, keeps nothing, not shared
--           Scan trades (price, buy)          files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- texts
SELECT length(sym) AS a, lower(sym) AS b, upper(sym) AS c, trim(sym) AS d FROM trades;
-- plan:
--   Stream of what comes
--     Select length(sym) as a, lower(sym) as b, upper(sym) as c, trim(sym) as d
--       Window unbounded
--         Scan trades (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                 owed exact, a stream of rows, from history
--     Stream of what comes                                                           spends 0, keeps nothing, not shared
--       Select length(sym) as a, lower(sym) as b, upper(sym) as c, trim(sym) as d    spends 0, keeps nothing, not shared
--         Window unbounded                                                           spends 0, keeps nothing, not shared
--           Scan trades (sym)                                                        files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- parts of texts
SELECT substr(sym, 1, 2) AS a, substr(sym, 3) AS b, replace(sym, 'A', 'B') AS c FROM trades;
-- plan:
--   Stream of what comes
--     Select substr(sym, 1, 2) as a, substr(sym, 3) as b, replace(sym, 'A', 'B') as c
--       Window unbounded
--         Scan trades (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                       owed exact, a stream of rows, from history
--     Stream of what comes                                                                 spends 0, keeps nothing, not shared
--       Select substr(sym, 1, 2) as a, substr(sym, 3) as b, replace(sym, 'A', 'B') as c    spends 0, keeps nothing, not shared
--         Window unbounded                                                                 spends 0, keeps nothing, not shared
--           Scan trades (sym)                                                              files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- texts put together
SELECT concat(sym, '-', 'x') AS a FROM trades;
-- plan:
--   Stream of what comes
--     Select concat(sym, '-', 'x') as a
--       Window unbounded
--         Scan trades (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                         owed exact, a stream of rows, from history
--     Stream of what comes                   spends 0, keeps nothing, not shared
--       Select concat(sym, '-', 'x') as a    spends 0, keeps nothing, not shared
--         Window unbounded                   spends 0, keeps nothing, not shared
--           Scan trades (sym)                files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- texts inside texts
SELECT sym FROM trades WHERE starts_with(sym, 'A') AND contains(sym, 'B');
-- plan:
--   Stream of what comes
--     Window unbounded
--       Where starts_with(sym, 'A') AND contains(sym, 'B')
--         Scan trades (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                            owed exact, a stream of rows, from history
--     Stream of what comes                                      spends 0, keeps nothing, not shared
--       Window unbounded                                        spends 0, keeps nothing, not shared
--         Where starts_with(sym, 'A') AND contains(sym, 'B')    spends 0, keeps nothing, not shared
--           Scan trades (sym)                                   files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- parts of times
SELECT second(ts) AS a, minute(ts) AS b, hour(ts) AS c, day(ts) AS d FROM trades;
-- plan:
--   Stream of what comes
--     Select second(ts) as a, minute(ts) as b, hour(ts) as c, day(ts) as d
--       Window unbounded
--         Scan trades (ts)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                            owed exact, a stream of rows, from history
--     Stream of what comes                                                      spends 0, keeps nothing, not shared
--       Select second(ts) as a, minute(ts) as b, hour(ts) as c, day(ts) as d    spends 0, keeps nothing, not shared
--         Window unbounded                                                      spends 0, keeps nothing, not shared
--           Scan trades (ts)                                                    files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- times as numbers
SELECT epoch(ts) AS a, getminute(ts) AS b FROM trades;
-- plan:
--   Stream of what comes
--     Select epoch(ts) as a, getminute(ts) as b
--       Window unbounded
--         Scan trades (ts)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                 owed exact, a stream of rows, from history
--     Stream of what comes                           spends 0, keeps nothing, not shared
--       Select epoch(ts) as a, getminute(ts) as b    spends 0, keeps nothing, not shared
--         Window unbounded                           spends 0, keeps nothing, not shared
--           Scan trades (ts)                         files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- times in buckets
SELECT bucket(ts, INTERVAL 5 MINUTES) AS a FROM trades;
-- plan:
--   Stream of what comes
--     Select bucket(ts, INTERVAL '5 min') as a
--       Window unbounded
--         Scan trades (ts)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                owed exact, a stream of rows, from history
--     Stream of what comes                          spends 0, keeps nothing, not shared
--       Select bucket(ts, INTERVAL '5 min') as a    spends 0, keeps nothing, not shared
--         Window unbounded                          spends 0, keeps nothing, not shared
--           Scan trades (ts)                        files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- names of functions have no case
SELECT ABS(price) AS a, Lower(sym) AS b FROM trades;
-- plan:
--   Stream of what comes
--     Select abs(price) as a, lower(sym) as b
--       Window unbounded
--         Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                               owed exact, a stream of rows, from history
--     Stream of what comes                         spends 0, keeps nothing, not shared
--       Select abs(price) as a, lower(sym) as b    spends 0, keeps nothing, not shared
--         Window unbounded                         spends 0, keeps nothing, not shared
--           Scan trades (sym, price)               files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- quotes in texts
SELECT sym FROM trades WHERE sym = 'it''s';
-- plan:
--   Stream of what comes
--     Window unbounded
--       Where sym = 'it''s'
--         Scan trades (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change             owed exact, a stream of rows, from history
--     Stream of what comes       spends 0, keeps nothing, not shared
--       Window unbounded         spends 0, keeps nothing, not shared
--         Where sym = 'it''s'    spends 0, keeps nothing, not shared
--           Scan trades (sym)    files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact

-- large and small numbers
SELECT price FROM trades WHERE price > 1e3 AND size < 9223372036854775807;
-- plan:
--   Stream of what comes
--     Select price
--       Window unbounded
--         Where price > 1000.0 AND size < 9223372036854775807
--           Scan trades (price, size)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                               owed exact, a stream of rows, from history
--     Stream of what comes                                         spends 0, keeps nothing, not shared
--       Select price                                               spends 0, keeps nothing, not shared
--         Window unbounded                                         spends 0, keeps nothing, not shared
--           Where price > 1000.0 AND size < 9223372036854775807    spends 0, keeps nothing, not shared
--             Scan trades (price, size)                            files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed by number over 4 shards, in the index of selections
--   kept back 0 of the error: rows are exact
