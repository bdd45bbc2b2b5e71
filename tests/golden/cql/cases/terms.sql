-- every
SELECT AVG(price) FROM trades [RANGE 1 MINUTE] EVERY 10 SECONDS;
-- plan:
--   q: avg(price) from trades [range 1 min], every 10 s, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                owed exact
--     Aggregate avg(price)           spends 0, shard 2
--       Window range 1 min           spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- on change
SELECT AVG(price) FROM trades [RANGE 1 MINUTE] ON CHANGE;
-- plan:
--   q: avg(price) from trades [range 1 min], on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                 owed exact
--     Aggregate avg(price)           spends 0, shard 1
--       Window range 1 min           spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- on change of an amount
SELECT AVG(price) FROM trades [RANGE 1 MINUTE] ON CHANGE OF 0.25;
-- plan:
--   q: avg(price) from trades [range 1 min], on change of 0.25, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change of 0.25         owed exact
--     Aggregate avg(price)           spends 0, shard 1
--       Window range 1 min           spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- on close
SELECT AVG(price) FROM trades [RANGE 1 MINUTE SLIDE 30 SECONDS] ON CLOSE;
-- plan:
--   q: avg(price) from trades [range 1 min slide 30 s], on close, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on close                      owed exact
--     Aggregate avg(price)               spends 0, shard 2
--       Window range 1 min slide 30 s    spends 0, panes of 30 s, from history, not shared
--         Scan trades (ts, price)        files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- on close of rows
SELECT sym, COUNT(*) AS n FROM trades [RANGE 1 MINUTE SLIDE 30 SECONDS] GROUP BY sym HAVING COUNT(*) > 1 ON CLOSE;
-- plan:
--   Select sym, COUNT(*) as n
--     Where COUNT(*) > 1
--       Group COUNT(*) by sym
--         Window range 1 min slide 30 s
--           Scan trades (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 30 s                        owed exact, rows that come and go, from history
--     Select sym, COUNT(*) as n              spends 0, keeps nothing, not shared
--       Where COUNT(*) > 1                   spends 0, keeps nothing, not shared
--         Group COUNT(*) by sym              spends 0, keeps one row for each sym, not shared
--           Window range 1 min slide 30 s    spends 0, keeps rows of trades for range 1 min slide 30 s, not shared
--             Scan trades (sym)              files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min slide 30 s
--   store of trades: range 1 min slide 30 s
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of trades: hashed by sym
--   kept back 0 of the error: rows are exact

-- exact
SELECT AVG(price) FROM trades [RANGE 1 MINUTE] EXACT EVERY 10 SECONDS;
-- plan:
--   q: avg(price) from trades [range 1 min], every 10 s, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                owed exact
--     Aggregate avg(price)           spends 0, shard 2
--       Window range 1 min           spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- within a width
SELECT AVG(price) FROM trades [RANGE 1 MINUTE] WITHIN 0.5;
-- plan:
--   q: avg(price) from trades [range 1 min], on change of 0.5, within 0.5 at 95% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change of 0.5          owed within 0.5 at 95% confidence
--     Aggregate avg(price)           spends 0, shard 1
--       Window range 1 min           spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: small moves, late rows
--   kept back 0 of 0.5: answers that moved less are not given again

-- within a width, every so often
SELECT AVG(price) FROM trades [RANGE 1 MINUTE] WITHIN 0.5 EVERY 10 SECONDS;
-- plan:
--   q: avg(price) from trades [range 1 min], every 10 s, within 0.5 at 95% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                owed within 0.5 at 95% confidence
--     Aggregate avg(price)           spends 0, shard 2
--       Window range 1 min           spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0.5 of 0.5: values are exact

-- within a share of the value
SELECT APPROX_COUNT_DISTINCT(sym) FROM trades [RANGE 1 MINUTE] WITHIN 5 PERCENT;
-- plan:
--   q: distinct(sym) from trades [range 1 min], on change, within 0.05 of the value at 95% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                owed within 0.05 of the value at 95% confidence
--     Summarise distinct(sym) in Hll(lg_k=12, delta=0.05, seed=5155289208567721)    spends within 0.0476 of the value, 95.0% per question, FFGM07 thm 1, 4,096 bytes a group and pane, shard 0
--       Window range 1 min                                                          spends 0, panes of 1 s, from history, shared by 2 queries
--         Scan trades (ts, sym)                                                     files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: hll (5%), late rows
--   kept back 0.00244 of 0.05, 0% of the chance to fail
--   not fm: takes 8,192 bytes, one group at a time
--   not theta: takes 16,384 bytes, one group at a time
--   not bjkst: takes 25,068 bytes, one group at a time

-- within a share, written with a sign
SELECT QUANTILE(price, 0.5) FROM trades [RANGE 1 MINUTE] WITHIN 5% CONFIDENCE 99%;
-- plan:
--   q: quantile(price, 0.5) from trades [range 1 min], on change, within 0.05 of the value at 99% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                                                owed within 0.05 of the value at 99% confidence
--     Summarise quantile(price, 0.5) in LogHistogram(alpha=0.047619047619047616, folds=0, seed=1579323902662387)    spends within 0.0437 of the value, 100.0% per question, MRL19 prop 3, 1,200 bytes a group and pane, shard 2
--       Window range 1 min                                                                                          spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts, price)                                                                                   files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: log_histogram, late rows
--   kept back 0.0063 of 0.05, 1% of the chance to fail

-- within a rank
SELECT QUANTILE(price, 0.95) FROM trades [RANGE 1 MINUTE] WITHIN 0.01 RANK EVERY 10 SECONDS;
-- plan:
--   q: quantile(price, 0.95) from trades [range 1 min], every 10 s, within 0.01 in rank at 95% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                                                                     owed within 0.01 in rank at 95% confidence
--     Summarise quantile(price, 0.95) in Kll(k=272, delta=0.05, seed=6871149817853958)    spends within 0.00999 in rank, 95.0% per question, KLL16 sec 2, by Azuma's inequality over the compactions that happened, 14,372 bytes a group and pane, shard 1
--       Window range 1 min                                                                spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, price)                                                         files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: kll (5%), late rows
--   kept back 1.4e-05 of 0.01, 0% of the chance to fail
--   not gk: takes 2,896 bytes, one group at a time
--   not mrl: takes 28,032 bytes, one group at a time
--   not reservoir: takes 295,184 bytes, one group at a time

-- within a rank in percent
SELECT QUANTILE(price, 0.95) FROM trades [RANGE 1 MINUTE] WITHIN 1% RANK CONFIDENCE 0.99 EVERY 10 SECONDS;
-- plan:
--   q: quantile(price, 0.95) from trades [range 1 min], every 10 s, within 0.01 in rank at 99% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                                                                     owed within 0.01 in rank at 99% confidence
--     Summarise quantile(price, 0.95) in Kll(k=326, delta=0.01, seed=4239864610266806)    spends within 0.00999 in rank, 99.0% per question, KLL16 sec 2, by Azuma's inequality over the compactions that happened, 23,836 bytes a group and pane, shard 2
--       Window range 1 min                                                                spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, price)                                                         files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: kll (1%), late rows
--   kept back 1.46e-05 of 0.01, 0% of the chance to fail
--   not gk: takes 2,896 bytes, one group at a time
--   not mrl: takes 28,032 bytes, one group at a time
--   not reservoir: takes 423,936 bytes, one group at a time

-- guaranteed
SELECT QUANTILE(price, 0.5) FROM trades [RANGE 1 MINUTE] GUARANTEED WITHIN 1% RANK EVERY 10 SECONDS;
-- plan:
--   q: quantile(price, 0.5) from trades [range 1 min], every 10 s, within 0.01 in rank
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                                                                              owed within 0.01 in rank
--     Summarise quantile(price, 0.5) in Gk(epsilon=0.01, least_kept=1.0, seed=6993269465752886)    spends within 0.01 in rank, 100.0% per question, GK16 thm 2, 2,896 bytes a group and pane, shard 1
--       Window range 1 min                                                                         spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, price)                                                                  files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: gk, late rows
--   kept back 0 of 0.01, 0% of the chance to fail
--   not mrl: takes 28,032 bytes, one group at a time

-- throughout
SELECT MEDIAN(price) FROM trades [RANGE 1 MINUTE] WITHIN 1% RANK CONFIDENCE 95% THROUGHOUT EVERY 10 SECONDS;
-- plan:
--   q: quantile(price, 0.5) from trades [range 1 min], every 10 s, within 0.01 in rank
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                                                                              owed within 0.01 in rank
--     Summarise quantile(price, 0.5) in Gk(epsilon=0.01, least_kept=1.0, seed=6993269465752886)    spends within 0.01 in rank, 100.0% per question, GK16 thm 2, 2,896 bytes a group and pane, shard 1
--       Window range 1 min                                                                         spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, price)                                                                  files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: gk, late rows
--   kept back 0 of 0.01, 0% of the chance to fail
--   not mrl: takes 28,032 bytes, one group at a time

-- fresh
SELECT AVG(price) FROM trades [RANGE 1 MINUTE] EVERY 10 SECONDS FRESH 20 SECONDS;
-- plan:
--   q: avg(price) from trades [range 1 min], every 10 s, exact, fresh 20 s
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                owed exact, fresh 20 s
--     Aggregate avg(price)           spends 0, shard 2
--       Window range 1 min           spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate
--   fresh within 11 s of 20 s: tick 1 s + cadence 10 s

-- fresh rows
SELECT sym FROM trades [NOW] FRESH 20 SECONDS;
-- plan:
--   Window now
--     Scan trades (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change         owed exact, fresh 20 s, rows that come and go, from history
--     Window now             spends 0, keeps rows of trades for now, not shared
--       Scan trades (sym)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for now
--   store of trades: now
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of trades: hashed by sym
--   kept back 0 of the error: rows are exact
--   fresh within 1 s of 20 s: tick 1 s

-- a budget of memory
SELECT QUANTILE(price, 0.5) FROM trades [RANGE 1 MINUTE] WITHIN 5% RANK BUDGET MEMORY 100 KB EVERY 10 SECONDS;
-- plan:
--   q: quantile(price, 0.5) from trades [range 1 min], every 10 s, within 0.05 in rank at 95% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                                                                   owed within 0.05 in rank at 95% confidence
--     Summarise quantile(price, 0.5) in Kll(k=55, delta=0.05, seed=5211247188957102)    spends within 0.0494 in rank, 95.0% per question, KLL16 sec 2, by Azuma's inequality over the compactions that happened, 5,180 bytes a group and pane, shard 3
--       Window range 1 min                                                              spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, price)                                                       files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: kll (5%), late rows
--   kept back 0.000614 of 0.05, 0% of the chance to fail
--   not gk: takes 1,432 bytes, one group at a time
--   not mrl: takes 7,232 bytes, one group at a time
--   not reservoir: takes 11,872 bytes, one group at a time

-- with history
SELECT AVG(price) FROM trades [RANGE 1 MINUTE] WITH HISTORY;
-- plan:
--   q: avg(price) from trades [range 1 min], on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                 owed exact
--     Aggregate avg(price)           spends 0, shard 1
--       Window range 1 min           spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- from now
SELECT AVG(price) FROM trades [RANGE 1 MINUTE] FROM NOW;
-- plan:
--   q: avg(price) from trades [range 1 min], on change, exact, from now
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                 owed exact
--     Aggregate avg(price)           spends 0, shard 1
--       Window range 1 min           spends 0, panes of 1 s, from epoch 2, not shared
--         Scan trades (ts, price)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- rows from now
SELECT sym FROM trades [RANGE 1 MINUTE] FROM NOW;
-- plan:
--   Window range 1 min
--     Scan trades (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change         owed exact, rows that come and go, from now
--     Window range 1 min     spends 0, keeps rows of trades for range 1 min, not shared
--       Scan trades (sym)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of trades: hashed by sym
--   kept back 0 of the error: rows are exact

-- changes
SELECT sym FROM trades [RANGE 1 MINUTE] EMIT CHANGES;
-- plan:
--   Window range 1 min
--     Scan trades (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change         owed exact, rows that come and go, from history
--     Window range 1 min     spends 0, keeps rows of trades for range 1 min, shared by 2 queries
--       Scan trades (sym)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of trades: hashed by sym
--   kept back 0 of the error: rows are exact

-- numbers as rows that change
SELECT AVG(price) AS mean FROM trades [RANGE 1 MINUTE] EMIT CHANGES;
-- plan:
--   Select AVG(price) as mean
--     Group AVG(price)
--       Window range 1 min
--         Scan trades (price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change               owed exact, rows that come and go, from history
--     Select AVG(price) as mean    spends 0, keeps nothing, not shared
--       Group AVG(price)           spends 0, keeps one row, not shared
--         Window range 1 min       spends 0, keeps rows of trades for range 1 min, not shared
--           Scan trades (price)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: no group is a column that rows could be hashed by
--   kept back 0 of the error: rows are exact

-- store
SELECT sym, price FROM trades [RANGE 1 MINUTE] EMIT STORE;
-- plan:
--   Window range 1 min
--     Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                owed exact, current rows only, from history
--     Window range 1 min            spends 0, keeps rows of trades for range 1 min, not shared
--       Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of trades: hashed by sym
--   kept back 0 of the error: rows are exact

-- append
SELECT sym, price FROM trades WHERE price > 1 EMIT APPEND;
-- plan:
--   Stream of what comes
--     Window unbounded
--       Where price > 1
--         Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                    owed exact, a stream of rows, from history
--     Stream of what comes              spends 0, keeps nothing, not shared
--       Window unbounded                spends 0, keeps nothing, not shared
--         Where price > 1               spends 0, keeps nothing, not shared
--           Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory bounded: each row is looked at once
--   store of trades: no row is kept
--   placed on all of 4 shards, in the index of selections
--   rows of trades: spread over all shards
--   kept back 0 of the error: rows are exact

-- append what stays
SELECT sym, price FROM trades [RANGE UNBOUNDED] WHERE price > 1 EMIT APPEND;
-- plan:
--   Window unbounded
--     Where price > 1
--       Scan trades (sym, price)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                  owed exact, rows that stay, from history
--     Window unbounded                spends 0, keeps every row of trades as the answer is all of them, not shared
--       Where price > 1               spends 0, keeps nothing, not shared
--         Scan trades (sym, price)    files, tick 1 s, late rows dropped
--   memory unbounded: every row of trades as the answer is all of them
--   state grows with every row of trades; a window bounds it: trades [RANGE 5 MINUTES]
--   store of trades: unbounded
--   placed on all of 4 shards, with the views whose rows are split alike
--   rows of trades: hashed by sym
--   kept back 0 of the error: rows are exact

-- all at once
SELECT QUANTILE(price, 0.5) FROM trades [RANGE 1 HOUR] EVERY 1 MINUTE WITHIN 1% RANK CONFIDENCE 99% FRESH 2 MINUTES BUDGET MEMORY 1 MB WITH HISTORY;
-- plan:
--   q: quantile(price, 0.5) from trades [range 1 h], every 1 min, within 0.01 in rank at 99% confidence, fresh 2 min
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 1 min                                                                  owed within 0.01 in rank at 99% confidence, fresh 2 min
--     Summarise quantile(price, 0.5) in Kll(k=326, delta=0.01, seed=969149171314890)    spends within 0.00999 in rank, 99.0% per question, KLL16 sec 2, by Azuma's inequality over the compactions that happened, 23,836 bytes a group and pane, shard 0
--       Window range 1 h                                                                spends 0, panes of 1 min, from history, not shared
--         Scan trades (ts, price)                                                       files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: kll (1%), late rows
--   kept back 1.46e-05 of 0.01, 0% of the chance to fail
--   not gk: takes 2,896 bytes, one group at a time
--   not mrl: takes 28,032 bytes, one group at a time
--   not reservoir: takes 423,936 bytes, one group at a time
--   fresh within 1 min 1 s of 2 min: tick 1 s + cadence 1 min

-- a share of two
SELECT APPROX_COUNT_DISTINCT(sym) AS a, F2(sym) AS b FROM trades [RANGE 1 MINUTE] WITHIN 5 PERCENT CONFIDENCE 90%;
-- plan:
--   q.a: distinct(sym) from trades [range 1 min], on change, within 0.05 of the value at 95% confidence
--   q.b: self_join(sym) from trades [range 1 min], on change, within 0.05 of the value at 95% confidence
-- explain:
--   q.a version 1, running, since epoch 2
--   Answer on change                                                                owed within 0.05 of the value at 95% confidence
--     Summarise distinct(sym) in Hll(lg_k=12, delta=0.05, seed=5155289208567721)    spends within 0.0476 of the value, 95.0% per question, FFGM07 thm 1, 4,096 bytes a group and pane, shard 0
--       Window range 1 min                                                          spends 0, panes of 1 s, from history, shared by 2 queries
--         Scan trades (ts, sym)                                                     files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: hll (5%), late rows
--   kept back 0.00244 of 0.05, 0% of the chance to fail
--   not fm: takes 8,192 bytes, one group at a time
--   not theta: takes 16,384 bytes, one group at a time
--   not bjkst: takes 25,068 bytes, one group at a time
--
--   q.b version 1, running, since epoch 2
--   Answer on change                                                                                                 owed within 0.05 of the value at 95% confidence
--     Summarise self_join(sym) in FastAms(width=6517, depth=3, delta=0.050000000000000044, seed=5195270869935905)    spends within 0.0476 of the value, 95.0% per question, AMS99 thm 2.2, 156,408 bytes a group and pane, shard 3
--       Window range 1 min                                                                                           spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts, sym)                                                                                      files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: fast_ams (5%), late rows
--   kept back 0.00238 of 0.05, 0% of the chance to fail
--   not ams: takes 156,408 bytes, one group at a time

-- what is exact takes no share
SELECT COUNT(*) AS n, APPROX_COUNT_DISTINCT(sym) AS a FROM trades [RANGE 1 MINUTE] WITHIN 5 PERCENT CONFIDENCE 90%;
-- plan:
--   q.n: count(*) from trades [range 1 min], on change, exact
--   q.a: distinct(sym) from trades [range 1 min], on change, within 0.05 of the value at 90% confidence
-- explain:
--   q.n version 1, running, since epoch 2
--   Answer on change          owed exact
--     Aggregate count(*)      spends 0, shard 1
--       Window range 1 min    spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts)    files, tick 1 s, late rows dropped
--   rows of trades: summed where they are read, sent to one shard
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate
--
--   q.a version 1, running, since epoch 2
--   Answer on change                                                               owed within 0.05 of the value at 90% confidence
--     Summarise distinct(sym) in Hll(lg_k=11, delta=0.1, seed=5915906191184576)    spends within 0.0425 of the value, 90.0% per question, FFGM07 thm 1, 2,048 bytes a group and pane, shard 2
--       Window range 1 min                                                         spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts, sym)                                                    files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: hll (10%), late rows
--   kept back 0.00751 of 0.05, 0% of the chance to fail
--   not fm: takes 8,192 bytes, one group at a time
--   not bjkst: takes 12,643 bytes, one group at a time
--   not theta: takes 16,384 bytes, one group at a time
