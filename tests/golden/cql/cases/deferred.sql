-- within a width at a confidence
SELECT AVG(price) FROM trades [PARTITION BY sym ROWS 1] WITHIN 0.5 CONFIDENCE 0.9;
-- plan:
--   q: avg(price) of all series of trades, on change, within 0.5 for 90% of the time
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                        owed within 0.5 for 90% of the time
--     Defer avg(price) by timer or watch, chosen by cost    spends 0.5 at each tick, for 90% of the time, not shared
--       Latest price of all series                          spends 0, one cell
--         Scan trades (sym, ts, price)                      files, tick 1 s, late rows dropped
--   rows of trades: read by every shard: models of movement follow every series
--   error by cause: deferral by watch (10%) or deferral by timer (10%), late rows, interruption
--   kept back 0 of 0.5: 10% of the ticks with rows may be further off

-- the usual confidence
SELECT SUM(price) FROM trades [PARTITION BY sym ROWS 1] WHERE sym IN ('A', 'B') WITHIN 0.5;
-- plan:
--   q: sum(price) of 2 series of trades, on change, within 0.5 for 95% of the time
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                        owed within 0.5 for 95% of the time
--     Defer sum(price) by timer or watch, chosen by cost    spends 0.5 at each tick, for 95% of the time, not shared
--       Latest price of 2 series                            spends 0, one cell
--         Scan trades (sym, ts, price)                      files, tick 1 s, late rows dropped
--   rows of trades: read by every shard: models of movement follow every series
--   error by cause: deferral by watch (5%) or deferral by timer (5%), late rows, interruption
--   kept back 0 of 0.5: 5% of the ticks with rows may be further off

-- a share of the value, throughout
SELECT SUM(price) FROM trades [PARTITION BY sym ROWS 1] WITHIN 1 PERCENT CONFIDENCE 90% THROUGHOUT;
-- plan:
--   q: sum(price) of all series of trades, on change, within 0.01 of the value throughout for 90% of the answers
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                        owed within 0.01 of the value throughout for 90% of the answers
--     Defer sum(price) by timer or watch, chosen by cost    spends 1% of the value throughout, for 90% of the answers, not shared
--       Latest price of all series                          spends 0, one cell
--         Scan trades (sym, ts, price)                      files, tick 1 s, late rows dropped
--   rows of trades: read by every shard: models of movement follow every series
--   error by cause: deferral by watch (10%) or deferral by timer (10%), late rows, interruption
--   kept back 0 of 0.01: in 10% of the times between answers a tick may be further off

-- throughout without a confidence
SELECT MAX(price) FROM trades [PARTITION BY sym ROWS 1] WITHIN 0.5 THROUGHOUT;
-- plan:
--   q: max(price) of all series of trades, on change, within 0.5 throughout for 95% of the answers
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                        owed within 0.5 throughout for 95% of the answers
--     Defer max(price) by timer or watch, chosen by cost    spends 0.5 throughout, for 95% of the answers, not shared
--       Latest price of all series                          spends 0, one cell
--         Scan trades (sym, ts, price)                      files, tick 1 s, late rows dropped
--   rows of trades: read by every shard: models of movement follow every series
--   error by cause: deferral by watch (5%) or deferral by timer (5%), late rows, interruption
--   kept back 0 of 0.5: in 5% of the times between answers a tick may be further off

-- what cannot fail is not deferred
SELECT AVG(price) FROM trades [PARTITION BY sym ROWS 1] GUARANTEED WITHIN 0.5;
-- plan:
--   q: avg(price) of all series of trades, on change of 0.5, within 0.5
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change of 0.5              owed within 0.5
--     Latest avg(price) of all series    spends 0, shard 3 of 4, not shared
--       Scan trades (sym, ts, price)     files, tick 1 s, late rows dropped
--   rows of trades: sent to the shards whose queries list their series
--   error by cause: small moves, late rows
--   kept back 0 of 0.5: answers that moved less are not given again

-- every so often is not deferred
SELECT AVG(price) FROM trades [PARTITION BY sym ROWS 1] EVERY 1 MINUTE WITHIN 0.5 CONFIDENCE 0.9;
-- plan:
--   q: avg(price) of all series of trades, every 1 min, within 0.5 for 90% of the time
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 1 min                   owed within 0.5 for 90% of the time
--     Latest avg(price) of all series    spends 0, shard 3 of 4, not shared
--       Scan trades (sym, ts, price)     files, tick 1 s, late rows dropped
--   rows of trades: sent to the shards whose queries list their series
--   error by cause: late rows
--   kept back 0.5 of 0.5: values are exact

-- a step of its own is not deferred
SELECT AVG(price) FROM trades [PARTITION BY sym ROWS 1] ON CHANGE OF 0.2 WITHIN 0.5 CONFIDENCE 0.9;
-- plan:
--   q: avg(price) of all series of trades, on change of 0.2, within 0.5 for 90% of the time
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change of 0.2              owed within 0.5 for 90% of the time
--     Latest avg(price) of all series    spends 0, shard 3 of 4, not shared
--       Scan trades (sym, ts, price)     files, tick 1 s, late rows dropped
--   rows of trades: sent to the shards whose queries list their series
--   error by cause: small moves, late rows
--   kept back 0.3 of 0.5: answers that moved less are not given again

-- throughout of a window holds for every answer
SELECT AVG(price) FROM trades [RANGE 1 MINUTE] WITHIN 0.5 CONFIDENCE 0.9 THROUGHOUT;
-- plan:
--   q: avg(price) from trades [range 1 min], on change of 0.5, within 0.5
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change of 0.5          owed within 0.5
--     Aggregate avg(price)           spends 0, shard 1
--       Window range 1 min           spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: small moves, late rows
--   kept back 0 of 0.5: answers that moved less are not given again

-- by timer, with a slope
CREATE QUERY worth AS SELECT AVG(price) FROM trades [PARTITION BY sym ROWS 1] WITHIN 0.5 CONFIDENCE 0.9 BY TIMER WITH TREND;
-- plan:
--   worth: avg(price) of all series of trades, on change, within 0.5 for 90% of the time, by timer, with trend
-- explain:
--   worth version 1, running, since epoch 2
--   Answer on change                           owed within 0.5 for 90% of the time
--     Defer avg(price) by timer, with trend    spends 0.5 at each tick, for 90% of the time, not shared
--       Latest price of all series             spends 0, one cell
--         Scan trades (sym, ts, price)         files, tick 1 s, late rows dropped
--   rows of trades: read by every shard: models of movement follow every series
--   error by cause: deferral by watch (10%) or deferral by timer (10%), late rows, interruption
--   kept back 0 of 0.5: 10% of the ticks with rows may be further off
-- did:
--   registered worth
-- records:
--   {"do": "register", "queries": [{"name": "worth", "stream": "trades", "select": {"name": "avg", "x": "price"}, "answer": ["change", 0, 0.0], "contract": {"tolerance": "absolute", "within": 0.5, "confidence": 0.9, "freshness": null}, "regime": "timer", "trend": true}]}

-- by watch
SELECT COUNT(price) FROM trades [PARTITION BY sym ROWS 1] WITHIN 2 CONFIDENCE 0.9 BY WATCH;
-- plan:
--   q: count(price) of all series of trades, on change, within 2 for 90% of the time, by watch
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                      owed within 2 for 90% of the time
--     Defer count(price) by watch         spends 2 at each tick, for 90% of the time, not shared
--       Latest price of all series        spends 0, one cell
--         Scan trades (sym, ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: read by every shard: models of movement follow every series
--   error by cause: deferral by watch (10%), late rows, interruption
--   kept back 0 of 2: 10% of the ticks with rows may be further off

-- groups of series
SELECT buy, AVG(price) FROM trades [PARTITION BY sym ROWS 1] GROUP BY buy WITHIN 0.5 CONFIDENCE 0.9;
-- plan:
--   q: avg(price) of all series of trades by buy, on change, within 0.5 for 90% of the time
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                        owed within 0.5 for 90% of the time
--     Defer avg(price) by timer or watch, chosen by cost    spends 0.5 at each tick, for 90% of the time, not shared
--       Latest price of all series                          spends 0, one cell for each buy
--         Scan trades (sym, buy, ts, price)                 files, tick 1 s, late rows dropped
--   rows of trades: read by every shard: models of movement follow every series
--   error by cause: deferral by watch (10%) or deferral by timer (10%), late rows, interruption
--   kept back 0 of 0.5: 10% of the ticks with rows may be further off

-- exact groups of series are a window of rows
SELECT buy, AVG(price) FROM trades [PARTITION BY sym ROWS 1] GROUP BY buy;
-- plan:
--   q: avg(price) from trades [partition by sym rows 1] group by buy, on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                           owed exact
--     Aggregate avg(price) by buy              spends 0, groups over 4 shards
--       Window partition by sym rows 1         spends 0, ring of 1 rows, not shared
--         Scan trades (ts, sym, buy, price)    files, tick 1 s, late rows dropped
--   rows of trades: read by every shard: the newest 1 rows are those of all groups
--   error by cause: none
--   kept back 0 of the error: nothing here is approximate

-- groups by what is computed are a window of rows
SELECT size % 2, AVG(price) FROM trades [PARTITION BY sym ROWS 1] GROUP BY size % 2 WITHIN 0.5 CONFIDENCE 0.9;
-- plan:
--   q: avg(price) from trades [partition by sym rows 1] group by size % 2, on change of 0.5, within 0.5 at 90% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change of 0.5                     owed within 0.5 at 90% confidence
--     Aggregate avg(price) by size % 2          spends 0, groups over 4 shards
--       Window partition by sym rows 1          spends 0, ring of 1 rows, not shared
--         Scan trades (ts, sym, size, price)    files, tick 1 s, late rows dropped
--   rows of trades: read by every shard: the newest 1 rows are those of all groups
--   error by cause: small moves
--   kept back 0 of 0.5: answers that moved less are not given again

-- groups by a number that is no name are a window of rows
SELECT price, AVG(size) FROM trades [PARTITION BY sym ROWS 1] GROUP BY price WITHIN 0.5 CONFIDENCE 0.9;
-- plan:
--   q: avg(size) from trades [partition by sym rows 1] group by price, on change of 0.5, within 0.5 at 90% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change of 0.5                     owed within 0.5 at 90% confidence
--     Aggregate avg(size) by price              spends 0, groups over 4 shards
--       Window partition by sym rows 1          spends 0, ring of 1 rows, not shared
--         Scan trades (ts, sym, price, size)    files, tick 1 s, late rows dropped
--   rows of trades: read by every shard: the newest 1 rows are those of all groups
--   error by cause: small moves
--   kept back 0 of 0.5: answers that moved less are not given again

-- groups and a choice of series
SELECT buy, MAX(price) AS high, MIN(price) AS low FROM trades [PARTITION BY sym ROWS 1] WHERE sym IN ('A', 'B') GROUP BY buy WITHIN 0.5 CONFIDENCE 0.9;
-- plan:
--   q.high: max(price) of 2 series of trades by buy, on change, within 0.5 for 90% of the time
--   q.low: min(price) of 2 series of trades by buy, on change, within 0.5 for 90% of the time
-- explain:
--   q.high version 1, running, since epoch 2
--   Answer on change                                        owed within 0.5 for 90% of the time
--     Defer max(price) by timer or watch, chosen by cost    spends 0.5 at each tick, for 90% of the time, shared by 2 queries
--       Latest price of 2 series                            spends 0, one cell for each buy
--         Scan trades (sym, buy, ts, price)                 files, tick 1 s, late rows dropped
--   rows of trades: read by every shard: models of movement follow every series
--   error by cause: deferral by watch (10%) or deferral by timer (10%), late rows, interruption
--   kept back 0 of 0.5: 10% of the ticks with rows may be further off
--
--   q.low version 1, running, since epoch 2
--   Answer on change                                        owed within 0.5 for 90% of the time
--     Defer min(price) by timer or watch, chosen by cost    spends 0.5 at each tick, for 90% of the time, shared by 2 queries
--       Latest price of 2 series                            spends 0, one cell for each buy
--         Scan trades (sym, buy, ts, price)                 files, tick 1 s, late rows dropped
--   rows of trades: read by every shard: models of movement follow every series
--   error by cause: deferral by watch (10%) or deferral by timer (10%), late rows, interruption
--   kept back 0 of 0.5: 10% of the ticks with rows may be further off

-- a family by a table
CREATE QUERY sectors AS SELECT s.sector, AVG(t.price) AS mean FROM trades [PARTITION BY sym ROWS 1] t, symbols s WHERE t.sym = s.sym GROUP BY s.sector WITHIN 1 PERCENT CONFIDENCE 0.9;
-- plan:
--   sectors: avg(price) of series of trades, members sym of symbols by sector, on change, within 0.01 of the value for 90% of the time
-- explain:
--   sectors version 1, running, since epoch 2
--   Answer on change                                        owed within 0.01 of the value for 90% of the time
--     Defer avg(price) by timer or watch, chosen by cost    spends 1% of the value at each tick, for 90% of the time, not shared
--       Latest price of the series of symbols               spends 0, members sym of symbols by sector
--         Scan trades (sym, ts, price)                      files, tick 1 s, late rows dropped
--   rows of trades: read by every shard: models of movement follow every series
--   error by cause: deferral by watch (10%) or deferral by timer (10%), late rows, interruption
--   kept back 0 of 0.01: 10% of the ticks with rows may be further off
-- did:
--   registered sectors
-- records:
--   {"do": "register", "queries": [{"name": "sectors", "stream": "trades", "select": {"name": "avg", "x": "price"}, "answer": ["change", 0, 0.0], "contract": {"tolerance": "relative", "within": 0.01, "confidence": 0.9, "freshness": null}, "members": {"table": "symbols", "series": "sym", "by": ["sector"]}}]}

-- a family by a join, of some rows of the table
SELECT s.sector, SUM(t.price) FROM symbols s JOIN trades [PARTITION BY sym ROWS 1] t ON s.sym = t.sym WHERE s.sector != 'grain' GROUP BY s.sector WITHIN 1 CONFIDENCE 0.9;
-- plan:
--   q: sum(price) of series of trades, members sym of symbols where sector != 'grain' by sector, on change, within 1 for 90% of the time
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                        owed within 1 for 90% of the time
--     Defer sum(price) by timer or watch, chosen by cost    spends 1 at each tick, for 90% of the time, not shared
--       Latest price of the series of symbols               spends 0, members sym of symbols where sector != 'grain' by sector
--         Scan trades (sym, ts, price)                      files, tick 1 s, late rows dropped
--   rows of trades: read by every shard: models of movement follow every series
--   error by cause: deferral by watch (10%) or deferral by timer (10%), late rows, interruption
--   kept back 0 of 1: 10% of the ticks with rows may be further off

-- an exact family is rows
SELECT s.sector, AVG(t.price) FROM trades [PARTITION BY sym ROWS 1] t, symbols s WHERE t.sym = s.sym GROUP BY s.sector;
-- plan:
--   Select s.sector as sector, AVG(t.price)
--     Group AVG(t.price) by s.sector
--       Join t, s on t.sym = s.sym
--         Window partition by sym rows 1
--           Scan trades (sym, price)
--         Table symbols (sym, sector, since)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                              owed exact, rows that come and go, from history
--     Select s.sector as sector, AVG(t.price)     spends 0, keeps nothing, not shared
--       Group AVG(t.price) by s.sector            spends 0, keeps one row for each s.sector, not shared
--         Join t, s on t.sym = s.sym              spends 0, keeps rows of its inputs, not shared
--           Window partition by sym rows 1        spends 0, keeps 1 rows of trades for each sym, not shared
--             Scan trades (sym, price)            files, tick 1 s, late rows dropped
--           Table symbols (sym, sector, since)    spends 0, /symbols.csv, not shared
--   memory groups: 1 rows of trades for each sym
--   store of trades: partition by sym rows 1
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: window partition by sym rows 1 depends on rows that come after
--   kept back 0 of the error: rows are exact

-- the largest value of half an hour
SELECT MAX(level) FROM (SELECT AVG(price) AS level FROM trades [PARTITION BY sym ROWS 1] WHERE sym IN ('A', 'B')) [RANGE 30 MINUTES] WITHIN 2 CONFIDENCE 0.9;
-- plan:
--   q: max over range 30 min of avg(price) of 2 series of trades, on change, within 2 for 90% of the time
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                          owed within 2 for 90% of the time
--     Extreme max over range 30 min                           of the value at every tick with rows
--       Defer avg(price) by timer or watch, chosen by cost    spends 2 at each tick, for 90% of the time, not shared
--         Latest price of 2 series                            spends 0, one cell
--           Scan trades (sym, ts, price)                      files, tick 1 s, late rows dropped
--   rows of trades: read by every shard: models of movement follow every series
--   error by cause: deferral by watch (10%) or deferral by timer (10%), late rows, interruption
--   kept back 0 of 2: 10% of the ticks with rows may be further off

-- the smallest value since an instant, exactly
SELECT MIN(level) FROM (SELECT SUM(price) AS level FROM trades [PARTITION BY sym ROWS 1]) [SINCE '2026-01-01'];
-- plan:
--   q: min over since 2026-01-01T00:00:00Z of sum(price) of all series of trades, on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                 owed exact
--     Extreme min over since 2026-01-01T00:00:00Z    of the value at every tick with rows
--       Defer sum(price) by watch                    spends 0, not shared
--         Latest price of all series                 spends 0, one cell
--           Scan trades (sym, ts, price)             files, tick 1 s, late rows dropped
--   rows of trades: read by every shard: models of movement follow every series
--   error by cause: late rows, interruption
--   kept back 0 of the error: nothing here is approximate

-- both extremes of a family
SELECT sector, MAX(level) AS high, MIN(level) AS low FROM (SELECT s.sector, SUM(t.price) AS level FROM trades [PARTITION BY sym ROWS 1] t, symbols s WHERE t.sym = s.sym GROUP BY s.sector) [RANGE 30 MINUTES] GROUP BY sector WITHIN 2 CONFIDENCE 0.9;
-- plan:
--   q.high: max over range 30 min of sum(price) of series of trades, members sym of symbols by sector, on change, within 2 for 90% of the time
--   q.low: min over range 30 min of sum(price) of series of trades, members sym of symbols by sector, on change, within 2 for 90% of the time
-- explain:
--   q.high version 1, running, since epoch 2
--   Answer on change                                          owed within 2 for 90% of the time
--     Extreme max over range 30 min                           of the value at every tick with rows
--       Defer sum(price) by timer or watch, chosen by cost    spends 2 at each tick, for 90% of the time, shared by 2 queries
--         Latest price of the series of symbols               spends 0, members sym of symbols by sector
--           Scan trades (sym, ts, price)                      files, tick 1 s, late rows dropped
--   rows of trades: read by every shard: models of movement follow every series
--   error by cause: deferral by watch (10%) or deferral by timer (10%), late rows, interruption
--   kept back 0 of 2: 10% of the ticks with rows may be further off
--
--   q.low version 1, running, since epoch 2
--   Answer on change                                          owed within 2 for 90% of the time
--     Extreme min over range 30 min                           of the value at every tick with rows
--       Defer sum(price) by timer or watch, chosen by cost    spends 2 at each tick, for 90% of the time, shared by 2 queries
--         Latest price of the series of symbols               spends 0, members sym of symbols by sector
--           Scan trades (sym, ts, price)                      files, tick 1 s, late rows dropped
--   rows of trades: read by every shard: models of movement follow every series
--   error by cause: deferral by watch (10%) or deferral by timer (10%), late rows, interruption
--   kept back 0 of 2: 10% of the ticks with rows may be further off

-- one for each series
CREATE QUERY near FOR EACH sym IN ('A', 'B') AS SELECT AVG(price) FROM trades [PARTITION BY sym ROWS 1] WITHIN 0.5 CONFIDENCE 0.9;
-- plan:
--   near[A]: avg(price) of 1 series of trades, on change, within 0.5 for 90% of the time
--   near[B]: avg(price) of 1 series of trades, on change, within 0.5 for 90% of the time
-- explain:
--   near[A] version 1, running, since epoch 2
--   Answer on change                                        owed within 0.5 for 90% of the time
--     Defer avg(price) by timer or watch, chosen by cost    spends 0.5 at each tick, for 90% of the time, shared by 2 queries
--       Latest price of 1 series                            spends 0, one cell
--         Scan trades (sym, ts, price)                      files, tick 1 s, late rows dropped
--   rows of trades: read by every shard: models of movement follow every series
--   error by cause: deferral by watch (10%) or deferral by timer (10%), late rows, interruption
--   kept back 0 of 0.5: 10% of the ticks with rows may be further off
--
--   near[B] version 1, running, since epoch 2
--   Answer on change                                        owed within 0.5 for 90% of the time
--     Defer avg(price) by timer or watch, chosen by cost    spends 0.5 at each tick, for 90% of the time, shared by 2 queries
--       Latest price of 1 series                            spends 0, one cell
--         Scan trades (sym, ts, price)                      files, tick 1 s, late rows dropped
--   rows of trades: read by every shard: models of movement follow every series
--   error by cause: deferral by watch (10%) or deferral by timer (10%), late rows, interruption
--   kept back 0 of 0.5: 10% of the ticks with rows may be further off
-- did:
--   registered near[A], near[B]
-- records:
--   {"do": "register", "queries": [{"name": "near[A]", "stream": "trades", "select": {"name": "avg", "x": "price"}, "answer": ["change", 0, 0.0], "series": ["A"], "contract": {"tolerance": "absolute", "within": 0.5, "confidence": 0.9, "freshness": null}}, {"name": "near[B]", "stream": "trades", "select": {"name": "avg", "x": "price"}, "answer": ["change", 0, 0.0], "series": ["B"], "contract": {"tolerance": "absolute", "within": 0.5, "confidence": 0.9, "freshness": null}}]}

-- one for each part of a table
CREATE QUERY sector FOR EACH sector IN ('metal', 'grain') AS SELECT AVG(t.price) FROM trades [PARTITION BY sym ROWS 1] t, symbols s WHERE t.sym = s.sym WITHIN 0.5 CONFIDENCE 0.9;
-- plan:
--   sector[metal]: avg(price) of series of trades, members sym of symbols where sector = 'metal', on change, within 0.5 for 90% of the time
--   sector[grain]: avg(price) of series of trades, members sym of symbols where sector = 'grain', on change, within 0.5 for 90% of the time
-- explain:
--   sector[metal] version 1, running, since epoch 2
--   Answer on change                                        owed within 0.5 for 90% of the time
--     Defer avg(price) by timer or watch, chosen by cost    spends 0.5 at each tick, for 90% of the time, shared by 2 queries
--       Latest price of the series of symbols               spends 0, members sym of symbols where sector = 'metal'
--         Scan trades (sym, ts, price)                      files, tick 1 s, late rows dropped
--   rows of trades: read by every shard: models of movement follow every series
--   error by cause: deferral by watch (10%) or deferral by timer (10%), late rows, interruption
--   kept back 0 of 0.5: 10% of the ticks with rows may be further off
--
--   sector[grain] version 1, running, since epoch 2
--   Answer on change                                        owed within 0.5 for 90% of the time
--     Defer avg(price) by timer or watch, chosen by cost    spends 0.5 at each tick, for 90% of the time, shared by 2 queries
--       Latest price of the series of symbols               spends 0, members sym of symbols where sector = 'grain'
--         Scan trades (sym, ts, price)                      files, tick 1 s, late rows dropped
--   rows of trades: read by every shard: models of movement follow every series
--   error by cause: deferral by watch (10%) or deferral by timer (10%), late rows, interruption
--   kept back 0 of 0.5: 10% of the ticks with rows may be further off
-- did:
--   registered sector[metal], sector[grain]
-- records:
--   {"do": "register", "queries": [{"name": "sector[metal]", "stream": "trades", "select": {"name": "avg", "x": "price"}, "answer": ["change", 0, 0.0], "contract": {"tolerance": "absolute", "within": 0.5, "confidence": 0.9, "freshness": null}, "members": {"table": "symbols", "series": "sym", "by": [], "where": {"op": "=", "column": "sector", "values": ["metal"]}}}, {"name": "sector[grain]", "stream": "trades", "select": {"name": "avg", "x": "price"}, "answer": ["change", 0, 0.0], "contract": {"tolerance": "absolute", "within": 0.5, "confidence": 0.9, "freshness": null}, "members": {"table": "symbols", "series": "sym", "by": [], "where": {"op": "=", "column": "sector", "values": ["grain"]}}}]}

-- one extreme for each series
CREATE QUERY peak FOR EACH sym IN ('A', 'B') AS SELECT MAX(level) FROM (SELECT AVG(price) AS level FROM trades [PARTITION BY sym ROWS 1] WHERE sym = $sym) [RANGE 30 MINUTES] WITHIN 2 CONFIDENCE 0.9;
-- plan:
--   peak[A]: max over range 30 min of avg(price) of 1 series of trades, on change, within 2 for 90% of the time
--   peak[B]: max over range 30 min of avg(price) of 1 series of trades, on change, within 2 for 90% of the time
-- explain:
--   peak[A] version 1, running, since epoch 2
--   Answer on change                                          owed within 2 for 90% of the time
--     Extreme max over range 30 min                           of the value at every tick with rows
--       Defer avg(price) by timer or watch, chosen by cost    spends 2 at each tick, for 90% of the time, shared by 2 queries
--         Latest price of 1 series                            spends 0, one cell
--           Scan trades (sym, ts, price)                      files, tick 1 s, late rows dropped
--   rows of trades: read by every shard: models of movement follow every series
--   error by cause: deferral by watch (10%) or deferral by timer (10%), late rows, interruption
--   kept back 0 of 2: 10% of the ticks with rows may be further off
--
--   peak[B] version 1, running, since epoch 2
--   Answer on change                                          owed within 2 for 90% of the time
--     Extreme max over range 30 min                           of the value at every tick with rows
--       Defer avg(price) by timer or watch, chosen by cost    spends 2 at each tick, for 90% of the time, shared by 2 queries
--         Latest price of 1 series                            spends 0, one cell
--           Scan trades (sym, ts, price)                      files, tick 1 s, late rows dropped
--   rows of trades: read by every shard: models of movement follow every series
--   error by cause: deferral by watch (10%) or deferral by timer (10%), late rows, interruption
--   kept back 0 of 2: 10% of the ticks with rows may be further off
-- did:
--   registered peak[A], peak[B]
-- records:
--   {"do": "register", "queries": [{"name": "peak[A]", "stream": "trades", "select": {"name": "avg", "x": "price"}, "answer": ["change", 0, 0.0], "series": ["A"], "contract": {"tolerance": "absolute", "within": 2.0, "confidence": 0.9, "freshness": null}, "over": {"kind": "max", "window": {"kind": "range", "length": 1800000000, "slide": null, "start": 0, "rows": 0, "by": []}}}, {"name": "peak[B]", "stream": "trades", "select": {"name": "avg", "x": "price"}, "answer": ["change", 0, 0.0], "series": ["B"], "contract": {"tolerance": "absolute", "within": 2.0, "confidence": 0.9, "freshness": null}, "over": {"kind": "max", "window": {"kind": "range", "length": 1800000000, "slide": null, "start": 0, "rows": 0, "by": []}}}]}

-- a stream with a capacity
CREATE STREAM held (sym STRING, ts TIME, price FLOAT) FROM FILES 'held' FORMAT csv KEY sym TIME ts CAPACITY 100000;
-- says:
--   CREATE STREAM held (sym STRING, ts TIME, price FLOAT) FROM FILES 'held' KEY sym TIME ts FORMAT csv CAPACITY 100000
-- did:
--   created stream held
-- records:
--   {"do": "stream", "stream": {"name": "held", "schema": {"sym": "string", "ts": "time", "price": "float"}, "time": "ts", "key": ["sym"], "source": {"kind": "files", "path": "/held", "format": "csv"}, "tick": 1000000, "expected_gap": null, "late": {"policy": "drop", "allowed": 0, "reach": 0}, "keep": 3600000000, "future": 86400000000, "capacity": 100000}}
