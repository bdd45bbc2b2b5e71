-- Two streams, most output first
SELECT t.sym, t.ts AS t1, q.ts AS t2 FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q
WHERE t.sym = q.sym WITH PREFERENCE DESC COUNT(t.sym), COUNT(q.sym) FADE FACTOR 0.8 BUDGET PROBES 500;
-- plan:
--   Select t.sym as sym, t.ts as t1, q.ts as t2
--     Join t, q on t.sym = q.sym
--       Window range 1 min
--         Scan trades (sym, ts)
--       Window range 1 min
--         Scan quotes (sym, ts)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                 owed exact, rows that come and go, from history
--     Select t.sym as sym, t.ts as t1, q.ts as t2    spends 0, keeps nothing, not shared
--       Join t, q on t.sym = q.sym                   spends 0, keeps rows of its inputs, not shared
--         Window range 1 min                         spends 0, keeps rows of trades for range 1 min, not shared
--           Scan trades (sym, ts)                    files, tick 1 s, late rows dropped
--         Window range 1 min                         spends 0, keeps rows of quotes for range 1 min, not shared
--           Scan quotes (sym, ts)                    files, tick 1 s, late rows waited for 5 s
--   memory window: rows of trades for range 1 min
--   store of quotes: range 1 min
--   store of trades: range 1 min
--   promise of regions: COUNT(t.sym), COUNT(q.sym), fading by 0.8 a granularity; those that promise most first
--   regions of t: [range 1 min] in 2 of 4 granularities: 20 s, 40 s; summary syms, count_sketch of trades(sym), 20 s x 2 x 4, reaches back 5 min
--   regions of q: [range 1 min] in 2 of 4 granularities: 20 s, 40 s; summary quoted, count_sketch of quotes(sym), 20 s x 2 x 4, reaches back 5 min
--   budget 500 probes a tick; a probe is one row looked up in one region of the other stream
--   without overload a row is looked up in whole windows at once and nothing is summarised: answers are exact
--   under overload rows that are given are true, those missing are charged to promising; what was not looked up waits until its row leaves
--   placed by key over 4 shards; all of them choose alike
--   rows of quotes: read by every shard: the pairs of all keys compete for the budget
--   rows of trades: read by every shard: the pairs of all keys compete for the budget
--   kept back 0 of the error: rows that are given are exact

-- Two streams, outliers first
SELECT t.sym, q.bid FROM trades [RANGE 1 MINUTE] t JOIN quotes [RANGE 2 MINUTES] q ON t.sym = q.sym AND t.price > q.ask
WHERE t.size > 10 WITH PREFERENCE ASC COUNT(q.sym), COUNT(t.sym) BUDGET CPU 0.2;
-- plan:
--   Select t.sym as sym, q.bid as bid
--     Join t, q on t.sym = q.sym AND t.price > q.ask
--       Window range 1 min
--         Where size > 10
--           Scan trades (sym, price, size)
--       Window range 2 min
--         Scan quotes (sym, bid, ask)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                      owed exact, rows that come and go, from history
--     Select t.sym as sym, q.bid as bid                   spends 0, keeps nothing, not shared
--       Join t, q on t.sym = q.sym AND t.price > q.ask    spends 0, keeps rows of its inputs, not shared
--         Window range 1 min                              spends 0, keeps rows of trades for range 1 min, not shared
--           Where size > 10                               spends 0, keeps nothing, not shared
--             Scan trades (sym, price, size)              files, tick 1 s, late rows dropped
--         Window range 2 min                              spends 0, keeps rows of quotes for range 2 min, not shared
--           Scan quotes (sym, bid, ask)                   files, tick 1 s, late rows waited for 5 s
--   memory window: rows of trades for range 1 min
--   store of quotes: range 2 min
--   store of trades: range 1 min
--   promise of regions: COUNT(t.sym), COUNT(q.sym); those that promise least, but something, first
--   regions of t: [range 1 min] as one, in 2 of 4 granularities: 20 s, 40 s; summary syms, count_sketch of trades(sym), 20 s x 2 x 4, reaches back 5 min
--   regions of q: [range 2 min] as one, in 3 of 4 granularities: 20 s, 40 s, 1 min 20 s; summary quoted, count_sketch of quotes(sym), 20 s x 2 x 4, reaches back 5 min
--   budget 0.2 cores, in probes at the costs that were measured; a probe is one row looked up in the other stream
--   without overload a row is looked up in whole windows at once and nothing is summarised: answers are exact
--   under overload rows that are given are true, those missing are charged to promising; what was not looked up waits until its row leaves
--   placed by key over 4 shards; all of them choose alike
--   rows of quotes: read by every shard: the pairs of all keys compete for the budget
--   rows of trades: read by every shard: the pairs of all keys compete for the budget
--   kept back 0 of the error: rows that are given are exact

-- Two streams, a representative sample
SELECT t.sym, q.bid FROM trades [RANGE 1 MINUTE] t JOIN quotes [RANGE 1 MINUTE] q USING (sym)
WITH PREFERENCE WEIGHTED COUNT(t.sym) * COUNT(q.sym) BUDGET PROBES 100, CPU 50 PERCENT;
-- plan:
--   Select t.sym as sym, q.bid as bid
--     Join t, q on t.sym = q.sym
--       Window range 1 min
--         Scan trades (sym)
--       Window range 1 min
--         Scan quotes (sym, bid)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                       owed exact, rows that come and go, from history
--     Select t.sym as sym, q.bid as bid    spends 0, keeps nothing, not shared
--       Join t, q on t.sym = q.sym         spends 0, keeps rows of its inputs, not shared
--         Window range 1 min               spends 0, keeps rows of trades for range 1 min, not shared
--           Scan trades (sym)              files, tick 1 s, late rows dropped
--         Window range 1 min               spends 0, keeps rows of quotes for range 1 min, not shared
--           Scan quotes (sym, bid)         files, tick 1 s, late rows waited for 5 s
--   memory window: rows of trades for range 1 min
--   store of quotes: range 1 min
--   store of trades: range 1 min
--   promise of regions: COUNT(t.sym) * COUNT(q.sym); work shared in the ratio of what they promise
--   regions of t: [range 1 min] as one, in 2 of 4 granularities: 20 s, 40 s; summary syms, count_sketch of trades(sym), 20 s x 2 x 4, reaches back 5 min
--   regions of q: [range 1 min] as one, in 2 of 4 granularities: 20 s, 40 s; summary quoted, count_sketch of quotes(sym), 20 s x 2 x 4, reaches back 5 min
--   budget 100 probes a tick and 0.5 cores, in probes at the costs that were measured; a probe is one row looked up in the other stream
--   without overload a row is looked up in whole windows at once and nothing is summarised: answers are exact
--   under overload rows that are given are true, those missing are charged to promising; what was not looked up waits until its row leaves
--   placed by key over 4 shards; all of them choose alike
--   rows of quotes: read by every shard: the pairs of all keys compete for the budget
--   rows of trades: read by every shard: the pairs of all keys compete for the budget
--   kept back 0 of the error: rows that are given are exact

-- A window for all sources, and the spelling of the paper
SELECT t.sym, q.bid FROM trades t, quotes q WHERE t.sym = q.sym
WITH PREFERENCE DESC SUMMARY.Estimate.Count(t.sym), SUMMARY.Estimate.Count(q.sym) WINDOW 1 MINUTE;
-- plan:
--   Select t.sym as sym, q.bid as bid
--     Join t, q on t.sym = q.sym
--       Window range 1 min
--         Scan trades (sym)
--       Window range 1 min
--         Scan quotes (sym, bid)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                       owed exact, rows that come and go, from history
--     Select t.sym as sym, q.bid as bid    spends 0, keeps nothing, not shared
--       Join t, q on t.sym = q.sym         spends 0, keeps rows of its inputs, not shared
--         Window range 1 min               spends 0, keeps rows of trades for range 1 min, not shared
--           Scan trades (sym)              files, tick 1 s, late rows dropped
--         Window range 1 min               spends 0, keeps rows of quotes for range 1 min, not shared
--           Scan quotes (sym, bid)         files, tick 1 s, late rows waited for 5 s
--   memory window: rows of trades for range 1 min
--   store of quotes: range 1 min
--   store of trades: range 1 min
--   promise of regions: COUNT(t.sym), COUNT(q.sym); those that promise most first
--   regions of t: [range 1 min] as one, in 2 of 4 granularities: 20 s, 40 s; summary syms, count_sketch of trades(sym), 20 s x 2 x 4, reaches back 5 min
--   regions of q: [range 1 min] as one, in 2 of 4 granularities: 20 s, 40 s; summary quoted, count_sketch of quotes(sym), 20 s x 2 x 4, reaches back 5 min
--   budget without limit, answers are always exact; a probe is one row looked up in the other stream
--   without overload a row is looked up in whole windows at once and nothing is summarised: answers are exact
--   under overload rows that are given are true, those missing are charged to promising; what was not looked up waits until its row leaves
--   placed by key over 4 shards; all of them choose alike
--   rows of quotes: read by every shard: the pairs of all keys compete for the budget
--   rows of trades: read by every shard: the pairs of all keys compete for the budget
--   kept back 0 of the error: rows that are given are exact

-- Whole streams, rows as they come
SELECT ISTREAM(t.sym, q.bid) FROM trades [RANGE UNBOUNDED] t, quotes [RANGE UNBOUNDED] q WHERE t.sym = q.sym
WITH PREFERENCE DESC FREQUENCY(t.sym), FREQUENCY(q.sym) FADE FACTOR 0.8 BUDGET PROBES 10;
-- plan:
--   Stream of what comes
--     Select t.sym as sym, q.bid as bid
--       Join t, q on t.sym = q.sym
--         Window unbounded
--           Scan trades (sym)
--         Window unbounded
--           Scan quotes (sym, bid)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                         owed exact, a stream of rows, from history
--     Stream of what comes                   spends 0, keeps nothing, not shared
--       Select t.sym as sym, q.bid as bid    spends 0, keeps nothing, not shared
--         Join t, q on t.sym = q.sym         spends 0, keeps rows of its inputs, not shared
--           Window unbounded                 spends 0, keeps every row of trades for a join, not shared
--             Scan trades (sym)              files, tick 1 s, late rows dropped
--           Window unbounded                 spends 0, keeps every row of quotes for a join, not shared
--             Scan quotes (sym, bid)         files, tick 1 s, late rows waited for 5 s
--   memory unbounded: every row of trades for a join
--   state grows with every row of trades, quotes; a window bounds it: trades [RANGE 5 MINUTES]
--   store of quotes: unbounded
--   store of trades: unbounded
--   promise of regions: FREQUENCY(t.sym), FREQUENCY(q.sym), fading by 0.8 a granularity; those that promise most first
--   regions of t: [unbounded] in 4 of 4 granularities: 20 s, 40 s, 1 min 20 s, 2 min 40 s; summary syms, count_sketch of trades(sym), 20 s x 2 x 4, reaches back 5 min
--   regions of q: [unbounded] in 4 of 4 granularities: 20 s, 40 s, 1 min 20 s, 2 min 40 s; summary quoted, count_sketch of quotes(sym), 20 s x 2 x 4, reaches back 5 min
--   budget 10 probes a tick; a probe is one row looked up in one region of the other stream
--   without overload a row is looked up in whole windows at once and nothing is summarised: answers are exact
--   under overload rows that are given are true, those missing are charged to promising; what was not looked up waits until its row leaves
--   placed by key over 4 shards; all of them choose alike
--   rows of quotes: read by every shard: the pairs of all keys compete for the budget
--   rows of trades: read by every shard: the pairs of all keys compete for the budget
--   kept back 0 of the error: rows that are given are exact

-- Three streams
SELECT t.sym, q.bid, u.price FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q, trades [RANGE 2 MINUTES] u
WHERE t.sym = q.sym AND u.sym = q.sym AND u.price > t.price BUDGET PROBES 50 EVERY 10 SECONDS;
-- plan:
--   Select t.sym as sym, q.bid as bid, u.price as price
--     Join t, q, u on t.sym = q.sym AND u.sym = q.sym AND u.price > t.price
--       Window range 1 min
--         Scan trades (sym, price)
--       Window range 1 min
--         Scan quotes (sym, bid)
--       Window range 2 min
--         Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                                                            owed exact, rows that come and go, from history
--     Select t.sym as sym, q.bid as bid, u.price as price                        spends 0, keeps nothing, not shared
--       Join t, q, u on t.sym = q.sym AND u.sym = q.sym AND u.price > t.price    spends 0, keeps rows of its inputs, not shared
--         Window range 1 min                                                     spends 0, keeps rows of trades for range 1 min, not shared
--           Scan trades (sym, price)                                             files, tick 1 s, late rows dropped
--         Window range 1 min                                                     spends 0, keeps rows of quotes for range 1 min, not shared
--           Scan quotes (sym, bid)                                               files, tick 1 s, late rows waited for 5 s
--         Window range 2 min                                                     spends 0, keeps rows of trades for range 2 min, not shared
--           Scan trades (sym, price)                                             files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of quotes: range 1 min
--   store of trades: range 1 min, range 2 min
--   promise of regions: COUNT(t.sym), COUNT(q.sym), COUNT(u.sym); those that promise most first
--   regions of t: [range 1 min] as one, in 2 of 4 granularities: 20 s, 40 s; summary syms, count_sketch of trades(sym), 20 s x 2 x 4, reaches back 5 min
--   regions of q: [range 1 min] as one, in 2 of 4 granularities: 20 s, 40 s; summary quoted, count_sketch of quotes(sym), 20 s x 2 x 4, reaches back 5 min
--   regions of u: [range 2 min] as one, in 3 of 4 granularities: 20 s, 40 s, 1 min 20 s; summary syms, count_sketch of trades(sym), 20 s x 2 x 4, reaches back 5 min
--   budget 50 probes a tick; a row looked up in the other streams takes 2 probes
--   without overload a row is looked up in whole windows at once and nothing is summarised: answers are exact
--   under overload rows that are given are true, those missing are charged to promising; what was not looked up waits until its row leaves
--   placed by key over 4 shards; all of them choose alike
--   rows of quotes: read by every shard: the pairs of all keys compete for the budget
--   rows of trades: read by every shard: the pairs of all keys compete for the budget
--   kept back 0 of the error: rows that are given are exact

-- A budget alone prefers what gives most
SELECT t.sym FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q WHERE t.sym = q.sym BUDGET PROBES 5;
-- plan:
--   Select t.sym as sym
--     Join t, q on t.sym = q.sym
--       Window range 1 min
--         Scan trades (sym)
--       Window range 1 min
--         Scan quotes (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                  owed exact, rows that come and go, from history
--     Select t.sym as sym             spends 0, keeps nothing, not shared
--       Join t, q on t.sym = q.sym    spends 0, keeps rows of its inputs, not shared
--         Window range 1 min          spends 0, keeps rows of trades for range 1 min, not shared
--           Scan trades (sym)         files, tick 1 s, late rows dropped
--         Window range 1 min          spends 0, keeps rows of quotes for range 1 min, not shared
--           Scan quotes (sym)         files, tick 1 s, late rows waited for 5 s
--   memory window: rows of trades for range 1 min
--   store of quotes: range 1 min
--   store of trades: range 1 min
--   promise of regions: COUNT(t.sym), COUNT(q.sym); those that promise most first
--   regions of t: [range 1 min] as one, in 2 of 4 granularities: 20 s, 40 s; summary syms, count_sketch of trades(sym), 20 s x 2 x 4, reaches back 5 min
--   regions of q: [range 1 min] as one, in 2 of 4 granularities: 20 s, 40 s; summary quoted, count_sketch of quotes(sym), 20 s x 2 x 4, reaches back 5 min
--   budget 5 probes a tick; a probe is one row looked up in the other stream
--   without overload a row is looked up in whole windows at once and nothing is summarised: answers are exact
--   under overload rows that are given are true, those missing are charged to promising; what was not looked up waits until its row leaves
--   placed by key over 4 shards; all of them choose alike
--   rows of quotes: read by every shard: the pairs of all keys compete for the budget
--   rows of trades: read by every shard: the pairs of all keys compete for the budget
--   kept back 0 of the error: rows that are given are exact

-- A selection
SELECT sym, price FROM trades WHERE price > 10 AND price <= 20 BUDGET PROBES 100;
-- plan:
--   Stream of what comes
--     Window unbounded
--       Where price > 10 AND price <= 20
--         Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                          owed exact, a stream of rows, from history
--     Stream of what comes                    spends 0, keeps nothing, not shared
--       Window unbounded                      spends 0, keeps nothing, not shared
--         Where price > 10 AND price <= 20    spends 0, keeps nothing, not shared
--           Scan trades (sym, price)          files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   promise of regions: COUNT(price); those that promise most first
--   cells of trades: 8 buckets of price x zones of the last 1 min; summary prices, histogram of trades(price), 1 min x 2 x 3, reaches back 7 min
--   regions that may match: price 10 to 20; others cost nothing
--   budget 100 probes a tick; a probe is one row tested
--   without overload rows are tested as they come, in the index of selections, and nothing is summarised: answers are exact
--   under overload rows that are given are true, those missing are charged to promising; what was not tested waits until its zone is older, then is given up
--   placed by number over 4 shards
--   rows of trades: read by one shard: one budget chooses among all rows
--   kept back 0 of the error: rows that are given are exact

-- A selection by texts, taken back with its window
SELECT sym, price FROM trades [RANGE 1 MINUTE] WHERE sym IN ('A', 'B') AND size > 3
WITH PREFERENCE ASC COUNT(sym) BUDGET PROBES 100;
-- plan:
--   Select sym, price
--     Window range 1 min
--       Where sym IN ('A', 'B') AND size > 3
--         Scan trades (sym, price, size)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                              owed exact, rows that come and go, from history
--     Select sym, price                           spends 0, keeps nothing, not shared
--       Window range 1 min                        spends 0, keeps rows of trades for range 1 min, not shared
--         Where sym IN ('A', 'B') AND size > 3    spends 0, keeps nothing, not shared
--           Scan trades (sym, price, size)        files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   promise of regions: COUNT(sym); those that promise least, but something, first
--   cells of trades: 16 buckets of sym x zones of the last 20 s; summary syms, count_sketch of trades(sym), 20 s x 2 x 4, reaches back 5 min
--   regions that may match: sym in ('A', 'B'); others cost nothing
--   budget 100 probes a tick; a probe is one row tested
--   without overload rows are tested as they come, in the index of selections, and nothing is summarised: answers are exact
--   under overload rows that are given are true, those missing are charged to promising; what was not tested waits until its zone is older, then is given up
--   placed by number over 4 shards
--   rows of trades: read by one shard: one budget chooses among all rows
--   kept back 0 of the error: rows that are given are exact

-- A selection judged by another column
SELECT sym FROM trades t WHERE size > 3 WITH PREFERENCE WEIGHTED COUNT(t.price) * price FADE FACTOR 0.5 BUDGET CPU 20%;
-- plan:
--   Stream of what comes
--     Select sym
--       Window unbounded
--         Where size > 3
--           Scan trades (sym, size)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                     owed exact, a stream of rows, from history
--     Stream of what comes               spends 0, keeps nothing, not shared
--       Select sym                       spends 0, keeps nothing, not shared
--         Window unbounded               spends 0, keeps nothing, not shared
--           Where size > 3               spends 0, keeps nothing, not shared
--             Scan trades (sym, size)    files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   promise of regions: COUNT(price) * price, fading by 0.5 a granularity; work shared in the ratio of what they promise
--   cells of trades: 8 buckets of price x zones of the last 1 min; summary prices, histogram of trades(price), 1 min x 2 x 3, reaches back 7 min
--   regions that may match: any price, learned from what tests gave
--   budget 0.2 cores, in probes at the costs that were measured; a probe is one row tested
--   without overload rows are tested as they come, in the index of selections, and nothing is summarised: answers are exact
--   under overload rows that are given are true, those missing are charged to promising; what was not tested waits until its zone is older, then is given up
--   placed by number over 4 shards
--   rows of trades: read by one shard: one budget chooses among all rows
--   kept back 0 of the error: rows that are given are exact

-- A sum
SELECT SUM(price) FROM trades [RANGE 5 MINUTES] WHERE size > 3 EVERY 1 MINUTE BUDGET PROBES 100;
-- plan:
--   q: sum(price) from trades [range 5 min] where size > 3, every 1 min, as near as the budget allows at 95% confidence, desc COUNT(price) * price, 100 probes a tick
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 1 min                        owed as near as the budget allows at 95% confidence
--     Sample sum(price) in strata of price    spends as much as its bar says, by Hoeffding and Serfling over strata, shard 3 of 4
--       Window range 5 min                    spends 0, panes of 1 min, not shared
--         Where size > 3                      spends 0
--           Scan trades (ts, size, price)     files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one budget chooses among all rows
--   promise of regions: COUNT(price) * price; those that promise most first
--   strata of trades: 8 buckets of price x panes; summary prices, histogram of trades(price), 1 min x 2 x 3, reaches back 7 min
--   budget 100 probes a tick; a probe is one row looked at
--   without overload every row is looked at: answers are exact
--   under overload bars are as wide as what was not looked at, charged to promising
--   bars hold at 95% confidence by Hoeffding and Serfling over strata; each answer says whether it keeps the contract

-- A count within a width
SELECT COUNT(*) FROM trades [RANGE 1 MINUTE] WHERE price > 10 EVERY 10 SECONDS WITHIN 5 PERCENT BUDGET PROBES 100;
-- plan:
--   q: count(*) from trades [range 1 min] where price > 10, every 10 s, within 0.05 of the value at 95% confidence, weighted COUNT(price), 100 probes a tick
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                       owed within 0.05 of the value at 95% confidence
--     Sample count(*) in strata of price    spends as much as its bar says, by Hoeffding and Serfling over strata, shard 3 of 4
--       Window range 1 min                  spends 0, panes of 10 s, not shared
--         Where price > 10                  spends 0
--           Scan trades (ts, price)         files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one budget chooses among all rows
--   promise of regions: COUNT(price); work shared in the ratio of what they promise
--   strata of trades: 8 buckets of price x panes; summary prices, histogram of trades(price), 1 min x 2 x 3, reaches back 7 min
--   budget 100 probes a tick; a probe is one row looked at
--   without overload every row is looked at: answers are exact
--   under overload bars are as wide as what was not looked at, charged to promising
--   bars hold at 95% confidence by Hoeffding and Serfling over strata; each answer says whether it keeps the contract

-- An average at a confidence
SELECT AVG(price * size) FROM trades [RANGE 5 MINUTES SLIDE 1 MINUTE] WHERE price BETWEEN 2 AND 9 ON CLOSE CONFIDENCE 99% BUDGET CPU 0.1;
-- plan:
--   q: avg(price * size) from trades [range 5 min slide 1 min] where (price >= 2) and (price <= 9), on close, as near as the budget allows at 99% confidence, weighted COUNT(price), 0.1 cores
-- explain:
--   q version 1, running, since epoch 2
--   Answer on close                                  owed as near as the budget allows at 99% confidence
--     Sample avg(price * size) in strata of price    spends as much as its bar says, by Hoeffding and Serfling over strata, shard 3 of 4
--       Window range 5 min slide 1 min               spends 0, panes of 1 min, not shared
--         Where (price >= 2) and (price <= 9)        spends 0
--           Scan trades (ts, price, size)            files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one budget chooses among all rows
--   promise of regions: COUNT(price); work shared in the ratio of what they promise
--   strata of trades: 8 buckets of price x panes; summary prices, histogram of trades(price), 1 min x 2 x 3, reaches back 7 min
--   budget 0.1 cores, in probes at the costs that were measured; a probe is one row looked at
--   without overload every row is looked at: answers are exact
--   under overload bars are as wide as what was not looked at, charged to promising
--   bars hold at 99% confidence by Hoeffding and Serfling over strata; each answer says whether it keeps the contract

-- A median of a window that has a name
SELECT MEDIAN(price) FROM trades [recent] WITH PREFERENCE WEIGHTED COUNT(price) EVERY 1 MINUTE BUDGET PROBES 100;
-- plan:
--   q: quantile(price, 0.5) from trades [recent], every 1 min, as near as the budget allows at 95% confidence, weighted COUNT(price), 100 probes a tick
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 1 min                                  owed as near as the budget allows at 95% confidence
--     Sample quantile(price, 0.5) in strata of price    spends as much as its bar says, by Hoeffding and Serfling over strata, shard 3 of 4
--       Window range 5 min slide 1 min (recent)         spends 0, panes of 1 min, not shared
--         Scan trades (ts, price)                       files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one budget chooses among all rows
--   promise of regions: COUNT(price); work shared in the ratio of what they promise
--   strata of trades: 8 buckets of price x panes; summary prices, histogram of trades(price), 1 min x 2 x 3, reaches back 7 min
--   budget 100 probes a tick; a probe is one row looked at
--   without overload every row is looked at: answers are exact
--   under overload bars are as wide as what was not looked at, charged to promising
--   bars hold at 95% confidence by Hoeffding and Serfling over strata; each answer says whether it keeps the contract

-- A quantile by promise of its own
SELECT QUANTILE(price, 0.9) FROM trades [RANGE 1 MINUTE] WITH PREFERENCE DESC COUNT(sym) * 2 EVERY 1 MINUTE WITHIN 1% RANK BUDGET PROBES 100;
-- plan:
--   q: quantile(price, 0.9) from trades [range 1 min], every 1 min, within 0.01 in rank at 95% confidence, desc COUNT(sym) * 2, 100 probes a tick
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 1 min                                owed within 0.01 in rank at 95% confidence
--     Sample quantile(price, 0.9) in strata of sym    spends as much as its bar says, by Hoeffding and Serfling over strata, shard 3 of 4
--       Window range 1 min                            spends 0, panes of 1 min, not shared
--         Scan trades (ts, price, sym)                files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one budget chooses among all rows
--   promise of regions: COUNT(sym) * 2; those that promise most first
--   strata of trades: 16 buckets of sym x panes; summary syms, count_sketch of trades(sym), 20 s x 2 x 4, reaches back 5 min
--   budget 100 probes a tick; a probe is one row looked at
--   without overload every row is looked at: answers are exact
--   under overload bars are as wide as what was not looked at, charged to promising
--   bars hold at 95% confidence by Hoeffding and Serfling over strata; each answer says whether it keeps the contract

-- Several aggregates share a budget and the chance to fail
SELECT SUM(price) AS all_of_it, AVG(price) AS mean FROM trades [RANGE 1 MINUTE] EVERY 10 SECONDS CONFIDENCE 90% BUDGET PROBES 100;
-- plan:
--   q.all_of_it: sum(price) from trades [range 1 min], every 10 s, as near as the budget allows at 95% confidence, desc COUNT(price) * price, 50 probes a tick
--   q.mean: avg(price) from trades [range 1 min], every 10 s, as near as the budget allows at 95% confidence, weighted COUNT(price), 50 probes a tick
-- explain:
--   q.all_of_it version 1, running, since epoch 2
--   Answer every 10 s                         owed as near as the budget allows at 95% confidence
--     Sample sum(price) in strata of price    spends as much as its bar says, by Hoeffding and Serfling over strata, shard 3 of 4
--       Window range 1 min                    spends 0, panes of 10 s, not shared
--         Scan trades (ts, price)             files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one budget chooses among all rows
--   promise of regions: COUNT(price) * price; those that promise most first
--   strata of trades: 8 buckets of price x panes; summary prices, histogram of trades(price), 1 min x 2 x 3, reaches back 7 min
--   budget 50 probes a tick; a probe is one row looked at
--   without overload every row is looked at: answers are exact
--   under overload bars are as wide as what was not looked at, charged to promising
--   bars hold at 95% confidence by Hoeffding and Serfling over strata; each answer says whether it keeps the contract
--
--   q.mean version 1, running, since epoch 2
--   Answer every 10 s                         owed as near as the budget allows at 95% confidence
--     Sample avg(price) in strata of price    spends as much as its bar says, by Hoeffding and Serfling over strata, shard 0 of 4
--       Window range 1 min                    spends 0, panes of 10 s, not shared
--         Scan trades (ts, price)             files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one budget chooses among all rows
--   promise of regions: COUNT(price); work shared in the ratio of what they promise
--   strata of trades: 8 buckets of price x panes; summary prices, histogram of trades(price), 1 min x 2 x 3, reaches back 7 min
--   budget 50 probes a tick; a probe is one row looked at
--   without overload every row is looked at: answers are exact
--   under overload bars are as wide as what was not looked at, charged to promising
--   bars hold at 95% confidence by Hoeffding and Serfling over strata; each answer says whether it keeps the contract

-- A summary
CREATE SUMMARY sizes ON trades(size) WITH GRANULARITY 1 MINUTE AND COLLAPSE(2, 4)
USING count_min CONFIDENCE 60% MAXLENGTH 10 SECONDS BUCKETS 32;
-- says:
--   CREATE SUMMARY sizes ON trades(size) WITH GRANULARITY 1 MINUTE AND COLLAPSE(2, 4) USING count_min CONFIDENCE 0.6 MAXLENGTH 10 SECONDS BUCKETS 32
-- did:
--   created summary sizes
-- records:
--   {"do": "summary", "summary": {"name": "sizes", "stream": "trades", "column": "size", "granularity": 60000000, "rate": 2, "depth": 4, "kind": "count_min", "confidence": 0.6, "longest": 10000000, "buckets": 32}}

-- The same summary again
CREATE SUMMARY syms ON trades(sym) WITH GRANULARITY 20 SECONDS AND COLLAPSE(2, 4);
-- says:
--   CREATE SUMMARY syms ON trades(sym) WITH GRANULARITY 20 SECONDS AND COLLAPSE(2, 4)
-- did:
--   unchanged summary syms

-- A summary that is gone
DROP SUMMARY syms;
-- says:
--   DROP SUMMARY syms
-- did:
--   dropped summary syms
-- records:
--   {"do": "drop summary", "name": "syms"}

-- All summaries
SHOW SUMMARIES;
-- says:
--   SHOW SUMMARIES
-- shows:
--   name | stream | column | kind | granularities | reaches | buckets
--   syms | trades | sym | count_sketch | 20 s, 40 s, 1 min 20 s, 2 min 40 s | 5 min | 16
--   prices | trades | price | histogram | 1 min, 2 min, 4 min | 7 min | 8
--   quoted | quotes | sym | count_sketch | 20 s, 40 s, 1 min 20 s, 2 min 40 s | 5 min | 16

-- One summary
DESCRIBE prices;
-- says:
--   DESCRIBE prices
-- shows:
--   name | stream | column | kind | granularities | reaches | buckets
--   prices | trades | price | histogram | 1 min, 2 min, 4 min | 7 min | 8
