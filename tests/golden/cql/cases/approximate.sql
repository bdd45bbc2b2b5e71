-- distinct, unless said otherwise
SELECT APPROX_COUNT_DISTINCT(sym) FROM trades [RANGE 1 MINUTE];
-- plan:
--   q: distinct(sym) from trades [range 1 min], on change, within 0.02 of the value at 95% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                owed within 0.02 of the value at 95% confidence
--     Summarise distinct(sym) in Hll(lg_k=15, delta=0.05, seed=2783129463609662)    spends within 0.0164 of the value, 95.0% per question, FFGM07 thm 1, 32,768 bytes a group and pane, shard 0
--       Window range 1 min                                                          spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts, sym)                                                     files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: hll (5%), late rows
--   kept back 0.00364 of 0.02, 0% of the chance to fail
--   not bjkst: takes 50,008 bytes, one group at a time
--   not fm: takes 65,536 bytes, one group at a time
--   not theta: takes 80,000 bytes, one group at a time

-- distinct, exactly
SELECT COUNT(DISTINCT sym) FROM trades [RANGE 1 MINUTE];
-- plan:
--   q: distinct(sym) from trades [range 1 min], on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                 owed exact
--     Summarise distinct(sym) in Exact(seed=9001)    spends exact, every value kept, shard 0
--       Window range 1 min                           spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts, sym)                      files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- distinct within an error
SELECT COUNT(DISTINCT sym) FROM trades [RANGE 1 MINUTE] WITHIN 2 PERCENT EVERY 10 SECONDS;
-- plan:
--   q: distinct(sym) from trades [range 1 min], every 10 s, within 0.02 of the value at 95% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                                                               owed within 0.02 of the value at 95% confidence
--     Summarise distinct(sym) in Hll(lg_k=15, delta=0.05, seed=8207140252364758)    spends within 0.0164 of the value, 95.0% per question, FFGM07 thm 1, 32,768 bytes a group and pane, shard 0
--       Window range 1 min                                                          spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, sym)                                                     files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: hll (5%), late rows
--   kept back 0.00364 of 0.02, 0% of the chance to fail
--   not bjkst: takes 50,008 bytes, one group at a time
--   not fm: takes 65,536 bytes, one group at a time
--   not theta: takes 80,000 bytes, one group at a time

-- distinct of an expression
SELECT APPROX_COUNT_DISTINCT(saddr || daddr) FROM packets [RANGE 1 MINUTE];
-- plan:
--   q: distinct(saddr || daddr) from packets [range 1 min], on change, within 0.02 of the value at 95% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                           owed within 0.02 of the value at 95% confidence
--     Summarise distinct(saddr || daddr) in Hll(lg_k=15, delta=0.05, seed=6850551201804649)    spends within 0.0164 of the value, 95.0% per question, FFGM07 thm 1, 32,768 bytes a group and pane, shard 2
--       Window range 1 min                                                                     spends 0, panes of 1 s, from history, not shared
--         Scan packets (ts, saddr, daddr)                                                      files, tick 1 s, late rows revise 1 min back
--   rows of packets: read by one shard: one sketch takes all rows in order
--   error by cause: hll (5%)
--   kept back 0.00364 of 0.02, 0% of the chance to fail
--   not bjkst: takes 50,008 bytes, one group at a time
--   not fm: takes 65,536 bytes, one group at a time
--   not theta: takes 80,000 bytes, one group at a time

-- distinct by group
SELECT saddr, APPROX_COUNT_DISTINCT(daddr) AS reached FROM packets [RANGE 1 MINUTE] GROUP BY saddr EVERY 10 SECONDS;
-- plan:
--   q: distinct(daddr) from packets [range 1 min] group by saddr, every 10 s, within 0.02 of the value at 95% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                                                                          owed within 0.02 of the value at 95% confidence
--     Summarise distinct(daddr) by saddr in Hll(lg_k=15, delta=0.05, seed=3152196667361654)    spends within 0.0164 of the value, 95.0% per question, FFGM07 thm 1, 32,768 bytes a group and pane, groups over 4 shards
--       Window range 1 min                                                                     spends 0, panes of 10 s, from history, not shared
--         Scan packets (ts, saddr, daddr)                                                      files, tick 1 s, late rows revise 1 min back
--   rows of packets: hashed by saddr
--   error by cause: hll (5%)
--   kept back 0.00364 of 0.02, 0% of the chance to fail
--   not bjkst: takes 50,008 bytes, one group at a time
--   not fm: takes 65,536 bytes, one group at a time
--   not theta: takes 80,000 bytes, one group at a time

-- median, exactly
SELECT MEDIAN(price) FROM trades [RANGE 1 MINUTE];
-- plan:
--   q: quantile(price, 0.5) from trades [range 1 min], on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                        owed exact
--     Summarise quantile(price, 0.5) in Exact(seed=9001)    spends exact, every value kept, shard 3
--       Window range 1 min                                  spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts, price)                           files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- median, about
SELECT APPROX_MEDIAN(price) FROM trades [RANGE 1 MINUTE];
-- plan:
--   q: quantile(price, 0.5) from trades [range 1 min], on change, within 0.01 in rank at 99% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                     owed within 0.01 in rank at 99% confidence
--     Summarise quantile(price, 0.5) in Kll(k=326, delta=0.01, seed=3333300617948013)    spends within 0.00999 in rank, 99.0% per question, KLL16 sec 2, by Azuma's inequality over the compactions that happened, 23,836 bytes a group and pane, shard 3
--       Window range 1 min                                                               spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts, price)                                                        files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: kll (1%), late rows
--   kept back 1.46e-05 of 0.01, 0% of the chance to fail
--   not gk: takes 2,896 bytes, one group at a time
--   not mrl: takes 28,032 bytes, one group at a time
--   not reservoir: takes 423,936 bytes, one group at a time

-- a quantile, exactly
SELECT QUANTILE(price, 0.9) FROM trades [RANGE 1 MINUTE] EVERY 10 SECONDS;
-- plan:
--   q: quantile(price, 0.9) from trades [range 1 min], every 10 s, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                                       owed exact
--     Summarise quantile(price, 0.9) in Exact(seed=9001)    spends exact, every value kept, shard 1
--       Window range 1 min                                  spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, price)                           files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- a quantile, about
SELECT APPROX_QUANTILE(price, 0.9) FROM trades [RANGE 1 MINUTE] EVERY 10 SECONDS;
-- plan:
--   q: quantile(price, 0.9) from trades [range 1 min], every 10 s, within 0.01 in rank at 99% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                                                                    owed within 0.01 in rank at 99% confidence
--     Summarise quantile(price, 0.9) in Kll(k=326, delta=0.01, seed=4239864610266806)    spends within 0.00999 in rank, 99.0% per question, KLL16 sec 2, by Azuma's inequality over the compactions that happened, 23,836 bytes a group and pane, shard 2
--       Window range 1 min                                                               spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, price)                                                        files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: kll (1%), late rows
--   kept back 1.46e-05 of 0.01, 0% of the chance to fail
--   not gk: takes 2,896 bytes, one group at a time
--   not mrl: takes 28,032 bytes, one group at a time
--   not reservoir: takes 423,936 bytes, one group at a time

-- a percentile
SELECT APPROX_PERCENTILE(price, 0.9) FROM trades [RANGE 1 MINUTE] EVERY 10 SECONDS;
-- plan:
--   q: quantile(price, 0.9) from trades [range 1 min], every 10 s, within 0.01 in rank at 99% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                                                                    owed within 0.01 in rank at 99% confidence
--     Summarise quantile(price, 0.9) in Kll(k=326, delta=0.01, seed=4239864610266806)    spends within 0.00999 in rank, 99.0% per question, KLL16 sec 2, by Azuma's inequality over the compactions that happened, 23,836 bytes a group and pane, shard 2
--       Window range 1 min                                                               spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, price)                                                        files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: kll (1%), late rows
--   kept back 1.46e-05 of 0.01, 0% of the chance to fail
--   not gk: takes 2,896 bytes, one group at a time
--   not mrl: takes 28,032 bytes, one group at a time
--   not reservoir: takes 423,936 bytes, one group at a time

-- a quantile within a share of its value
SELECT QUANTILE(price, 0.9) FROM trades [RANGE 1 MINUTE] WITHIN 1 PERCENT EVERY 10 SECONDS;
-- plan:
--   q: quantile(price, 0.9) from trades [range 1 min], every 10 s, within 0.01 of the value at 95% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                                                                                               owed within 0.01 of the value at 95% confidence
--     Summarise quantile(price, 0.9) in LogHistogram(alpha=0.009900990099009901, folds=0, seed=1143082167498822)    spends within 0.00979 of the value, 100.0% per question, MRL19 prop 3, 4,912 bytes a group and pane, shard 1
--       Window range 1 min                                                                                          spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, price)                                                                                   files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: log_histogram, late rows
--   kept back 0.000211 of 0.01, 5% of the chance to fail

-- two quantiles of one summary
SELECT QUANTILE(price, 0.5) AS p50, QUANTILE(price, 0.99) AS p99 FROM trades [RANGE 1 MINUTE] WITHIN 1% RANK EVERY 10 SECONDS;
-- plan:
--   q.p50: quantile(price, 0.5) from trades [range 1 min], every 10 s, within 0.01 in rank at 97.5% confidence
--   q.p99: quantile(price, 0.99) from trades [range 1 min], every 10 s, within 0.01 in rank at 97.5% confidence
-- explain:
--   q.p50 version 1, running, since epoch 2
--   Answer every 10 s                                                                     owed within 0.01 in rank at 97.5% confidence
--     Summarise quantile(price, 0.5) in Kll(k=297, delta=0.025, seed=7808304410996251)    spends within 0.00997 in rank, 97.5% per question, KLL16 sec 2, by Azuma's inequality over the compactions that happened, 22,036 bytes a group and pane, shard 0
--       Window range 1 min                                                                spends 0, panes of 10 s, from history, shared by 2 queries
--         Scan trades (ts, price)                                                         files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: kll (2.5%), late rows
--   kept back 3.23e-05 of 0.01, 0% of the chance to fail
--   not gk: takes 2,896 bytes, one group at a time
--   not mrl: takes 28,032 bytes, one group at a time
--   not reservoir: takes 350,640 bytes, one group at a time
--
--   q.p99 version 1, running, since epoch 2
--   Answer every 10 s                                                                      owed within 0.01 in rank at 97.5% confidence
--     Summarise quantile(price, 0.99) in Kll(k=297, delta=0.025, seed=7808304410996251)    spends within 0.00997 in rank, 97.5% per question, KLL16 sec 2, by Azuma's inequality over the compactions that happened, 22,036 bytes a group and pane, shard 0
--       Window range 1 min                                                                 spends 0, panes of 10 s, from history, shared by 2 queries
--         Scan trades (ts, price)                                                          files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: kll (2.5%), late rows
--   kept back 3.23e-05 of 0.01, 0% of the chance to fail
--   not gk: takes 2,896 bytes, one group at a time
--   not mrl: takes 28,032 bytes, one group at a time
--   not reservoir: takes 350,640 bytes, one group at a time

-- the heaviest
SELECT TOP_K(sym, 10) FROM trades [RANGE 1 MINUTE] EVERY 10 SECONDS;
-- plan:
--   q: top_k(sym, 10) from trades [range 1 min], every 10 s, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                                 owed exact
--     Summarise top_k(sym, 10) in Exact(seed=9001)    spends exact, every value kept, shard 3
--       Window range 1 min                            spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, sym)                       files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: none
--   kept back 0 of the error: nothing here is approximate

-- the heaviest, about
SELECT TOP_K(sym, 10) FROM trades [RANGE 1 MINUTE] WITHIN 1% RANK EVERY 10 SECONDS;
-- plan:
--   q: top_k(sym, 10) from trades [range 1 min], every 10 s, within 0.01 in rank at 95% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                                                                owed within 0.01 in rank at 95% confidence
--     Summarise top_k(sym, 10) in SpaceSaving(capacity=99, seed=8909355732376177)    spends within 0.01 n, 100.0% per question, ACHPWY13, 12,288 bytes a group and pane, shard 3
--       Window range 1 min                                                           spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, sym)                                                      files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: space_saving
--   kept back 0 of 0.01, 5% of the chance to fail
--   not frequent_items: takes 6,032 bytes, one group at a time
--   not misra_gries: takes 6,144 bytes, one group at a time
--   not lossy_counting: takes 6,144 bytes, one group at a time

-- the heaviest as a list of groups
SELECT sym, COUNT(*) AS n FROM trades [RANGE 1 MINUTE] GROUP BY sym ORDER BY n DESC LIMIT 10 WITHIN 1% RANK EVERY 10 SECONDS;
-- plan:
--   q: top_k(sym, 10) from trades [range 1 min], every 10 s, within 0.01 in rank at 95% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                                                                owed within 0.01 in rank at 95% confidence
--     Summarise top_k(sym, 10) in SpaceSaving(capacity=99, seed=8909355732376177)    spends within 0.01 n, 100.0% per question, ACHPWY13, 12,288 bytes a group and pane, shard 3
--       Window range 1 min                                                           spends 0, panes of 10 s, from history, not shared
--         Scan trades (ts, sym)                                                      files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: space_saving
--   kept back 0 of 0.01, 5% of the chance to fail
--   not frequent_items: takes 6,032 bytes, one group at a time
--   not misra_gries: takes 6,144 bytes, one group at a time
--   not lossy_counting: takes 6,144 bytes, one group at a time

-- the heaviest pairs
SELECT saddr, daddr, COUNT(*) AS n FROM packets [RANGE 1 MINUTE] GROUP BY saddr, daddr ORDER BY n DESC LIMIT 5 WITHIN 1% RANK EVERY 10 SECONDS;
-- plan:
--   q: top_k(saddr, daddr, 5) from packets [range 1 min], every 10 s, within 0.01 in rank at 95% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                                                                        owed within 0.01 in rank at 95% confidence
--     Summarise top_k(saddr, daddr, 5) in SpaceSaving(capacity=99, seed=5444014796370720)    spends within 0.01 n, 100.0% per question, ACHPWY13, 12,288 bytes a group and pane, shard 3
--       Window range 1 min                                                                   spends 0, panes of 10 s, from history, not shared
--         Scan packets (ts, saddr, daddr)                                                    files, tick 1 s, late rows revise 1 min back
--   rows of packets: read by one shard: one sketch takes all rows in order
--   error by cause: space_saving
--   kept back 0 of 0.01, 5% of the chance to fail
--   not frequent_items: takes 6,032 bytes, one group at a time
--   not misra_gries: takes 6,144 bytes, one group at a time
--   not lossy_counting: takes 6,144 bytes, one group at a time

-- how often
SELECT FREQUENCY(sym, 'A') FROM trades [RANGE 1 MINUTE];
-- plan:
--   q: frequency(sym, 'A') from trades [range 1 min], on change, exact
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                       owed exact
--     Summarise frequency(sym, 'A') in Exact(seed=9001)    spends exact, every value kept, shard 0
--       Window range 1 min                                 spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts, sym)                            files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: late rows
--   kept back 0 of the error: nothing here is approximate

-- how often, about
SELECT FREQUENCY(sym, 'A') FROM trades [RANGE 1 MINUTE] WITHIN 1% RANK;
-- plan:
--   q: frequency(sym, 'A') from trades [range 1 min], on change, within 0.01 in rank at 95% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                          owed within 0.01 in rank at 95% confidence
--     Summarise frequency(sym, 'A') in CountMin(width=272, depth=3, seed=3780669128035302)    spends within 0.00999 n, 95.0% per question, CM05 thm 1, 6,528 bytes a group and pane, shard 3
--       Window range 1 min                                                                    spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts, sym)                                                               files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: count_min (4.98%), late rows
--   kept back 6.32e-06 of 0.01, 0.0213% of the chance to fail
--   not space_saving: takes 12,288 bytes
--   not frequent_items: takes 6,032 bytes, one group at a time
--   not misra_gries: takes 6,144 bytes, one group at a time
--   not lossy_counting: takes 6,144 bytes, one group at a time
--   not reservoir: takes 295,184 bytes, one group at a time
--   not fast_ams: takes 2,145,600 bytes, one group at a time
--   not ams: takes 2,145,600 bytes, one group at a time

-- the second moment
SELECT F2(sym) FROM trades [RANGE 1 MINUTE];
-- plan:
--   q: self_join(sym) from trades [range 1 min], on change, within 0.02 of the value at 95% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                                                  owed within 0.02 of the value at 95% confidence
--     Summarise self_join(sym) in FastAms(width=38434, depth=3, delta=0.050000000000000044, seed=5979407001288273)    spends within 0.0196 of the value, 95.0% per question, AMS99 thm 2.2, 922,416 bytes a group and pane, shard 3
--       Window range 1 min                                                                                            spends 0, panes of 1 s, from history, not shared
--         Scan trades (ts, sym)                                                                                       files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: fast_ams (5%), late rows
--   kept back 0.000392 of 0.02, 0% of the chance to fail
--   not ams: takes 922,416 bytes, one group at a time

-- since an instant
SELECT APPROX_COUNT_DISTINCT(sym) FROM trades [SINCE '2026-01-01'];
-- plan:
--   q: distinct(sym) from trades [since 2026-01-01T00:00:00Z], on change, within 0.02 of the value at 95% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                owed within 0.02 of the value at 95% confidence
--     Summarise distinct(sym) in Hll(lg_k=15, delta=0.05, seed=5735604912283999)    spends within 0.0164 of the value, 95.0% per question, FFGM07 thm 1, 32,768 bytes a group and pane, shard 3
--       Window since 2026-01-01T00:00:00Z                                           spends 0, one pane, not shared
--         Scan trades (ts, sym)                                                     files, tick 1 s, late rows dropped
--   rows of trades: read by one shard: one sketch takes all rows in order
--   error by cause: hll (5%), late rows
--   kept back 0.00364 of 0.02, 0% of the chance to fail
--   not bjkst: takes 50,008 bytes, one group at a time
--   not fm: takes 65,536 bytes, one group at a time
--   not theta: takes 80,000 bytes, one group at a time

-- of this tick
SELECT APPROX_COUNT_DISTINCT(saddr) FROM packets [NOW];
-- plan:
--   q: distinct(saddr) from packets [now], on change, within 0.02 of the value at 95% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                  owed within 0.02 of the value at 95% confidence
--     Summarise distinct(saddr) in Hll(lg_k=15, delta=0.05, seed=2110239276882919)    spends within 0.0164 of the value, 95.0% per question, FFGM07 thm 1, 32,768 bytes a group and pane, shard 3
--       Window now                                                                    spends 0, panes of 1 s, from history, not shared
--         Scan packets (ts, saddr)                                                    files, tick 1 s, late rows revise 1 min back
--   rows of packets: read by one shard: one sketch takes all rows in order
--   error by cause: hll (5%)
--   kept back 0.00364 of 0.02, 0% of the chance to fail
--   not bjkst: takes 50,008 bytes, one group at a time
--   not fm: takes 65,536 bytes, one group at a time
--   not theta: takes 80,000 bytes, one group at a time

-- with a condition
SELECT APPROX_COUNT_DISTINCT(saddr) FROM packets [RANGE 1 MINUTE] WHERE port = 80 AND length > 100;
-- plan:
--   q: distinct(saddr) from packets [range 1 min] where (port = 80) and (length > 100), on change, within 0.02 of the value at 95% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                  owed within 0.02 of the value at 95% confidence
--     Summarise distinct(saddr) in Hll(lg_k=15, delta=0.05, seed=2393180198865549)    spends within 0.0164 of the value, 95.0% per question, FFGM07 thm 1, 32,768 bytes a group and pane, shard 1
--       Window range 1 min                                                            spends 0, panes of 1 s, from history, not shared
--         Where (port = 80) and (length > 100)                                        spends 0
--           Scan packets (ts, port, length, saddr)                                    files, tick 1 s, late rows revise 1 min back
--   rows of packets: read by one shard: one sketch takes all rows in order
--   error by cause: hll (5%)
--   kept back 0.00364 of 0.02, 0% of the chance to fail
--   not bjkst: takes 50,008 bytes, one group at a time
--   not fm: takes 65,536 bytes, one group at a time
--   not theta: takes 80,000 bytes, one group at a time

-- with a filter
SELECT APPROX_COUNT_DISTINCT(saddr) FILTER (WHERE port = 80) AS web FROM packets [RANGE 1 MINUTE];
-- plan:
--   q: distinct(saddr) from packets [range 1 min] where port = 80, on change, within 0.02 of the value at 95% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                                                  owed within 0.02 of the value at 95% confidence
--     Summarise distinct(saddr) in Hll(lg_k=15, delta=0.05, seed=3959390848008906)    spends within 0.0164 of the value, 95.0% per question, FFGM07 thm 1, 32,768 bytes a group and pane, shard 1
--       Window range 1 min                                                            spends 0, panes of 1 s, from history, not shared
--         Where port = 80                                                             spends 0
--           Scan packets (ts, port, saddr)                                            files, tick 1 s, late rows revise 1 min back
--   rows of packets: read by one shard: one sketch takes all rows in order
--   error by cause: hll (5%)
--   kept back 0.00364 of 0.02, 0% of the chance to fail
--   not bjkst: takes 50,008 bytes, one group at a time
--   not fm: takes 65,536 bytes, one group at a time
--   not theta: takes 80,000 bytes, one group at a time

-- of newest rows it is exact
SELECT APPROX_COUNT_DISTINCT(sym) FROM trades [ROWS 100];
-- plan:
--   Group COUNT(DISTINCT sym) as APPROX_COUNT_DISTINCT(sym)
--     Window rows 100
--       Scan trades (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                             owed exact, rows that come and go, from history
--     Group COUNT(DISTINCT sym) as APPROX_COUNT_DISTINCT(sym)    spends 0, keeps one row, not shared
--       Window rows 100                                          spends 0, keeps 100 rows of trades, not shared
--         Scan trades (sym)                                      files, tick 1 s, late rows dropped
--   memory bounded: 100 rows of trades
--   store of trades: rows 100
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: window rows 100 depends on rows that come after
--   kept back 0 of the error: rows are exact

-- beside something else it is exact
SELECT APPROX_COUNT_DISTINCT(sym) + 0 AS n FROM trades [RANGE 1 MINUTE];
-- plan:
--   Select APPROX_COUNT_DISTINCT(sym) + 0 as n
--     Group COUNT(DISTINCT sym) as APPROX_COUNT_DISTINCT(sym)
--       Window range 1 min
--         Scan trades (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer on change                                               owed exact, rows that come and go, from history
--     Select APPROX_COUNT_DISTINCT(sym) + 0 as n                   spends 0, keeps nothing, not shared
--       Group COUNT(DISTINCT sym) as APPROX_COUNT_DISTINCT(sym)    spends 0, keeps one row, not shared
--         Window range 1 min                                       spends 0, keeps rows of trades for range 1 min, shared by 2 queries
--           Scan trades (sym)                                      files, tick 1 s, late rows dropped
--   memory window: rows of trades for range 1 min
--   store of trades: range 1 min
--   placed on one of 4 shards with the views over the same windows
--   rows of trades: read by one shard: no group is a column that rows could be hashed by
--   kept back 0 of the error: rows are exact

-- the size of a union
SELECT COUNT(*) AS n FROM (SELECT saddr FROM packets [RANGE 1 MINUTE] UNION SELECT sym FROM trades [RANGE 1 MINUTE]) x WITHIN 5 PERCENT EVERY 10 SECONDS;
-- plan:
--   q: set_size(p0 | p1) from p0 = packets [range 1 min] by saddr; p1 = trades [range 1 min] by sym, every 10 s, within 0.05 of the value at 95% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                                                                  owed within 0.05 of the value at 95% confidence
--     Combine set_size(p0 | p1) in Theta(lg_k=11, delta=0.05, seed=543013479777509)    spends within 0.0443 of the value, 95.0% per question, BJKST02 thm 2 of each stream, 16,384 bytes a stream and pane, shard 3
--       Items p0 = saddr                                                               spends 0
--         Window range 1 min                                                           spends 0
--           Scan packets (ts, saddr)                                                   files
--       Items p1 = sym                                                                 spends 0
--         Window range 1 min                                                           spends 0
--           Scan trades (ts, sym)                                                      files
--   rows of packets: read by one shard: the sketches of all streams are combined in one place
--   rows of trades: read by one shard: the sketches of all streams are combined in one place
--   error by cause: theta (5%), late rows
--   sized for within 0.05 of the value at 95% confidence: a share of the union

-- the size of an intersection
SELECT COUNT(*) AS n FROM (SELECT sym FROM trades [RANGE 1 MINUTE] INTERSECT SELECT sym FROM quotes [RANGE 1 MINUTE]) x WITHIN 5% RANK EVERY 10 SECONDS;
-- plan:
--   q: set_size(p0 & p1) from p0 = trades [range 1 min] by sym; p1 = quotes [range 1 min] by sym, every 10 s, within 0.05 in rank at 95% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                                                                   owed within 0.05 in rank at 95% confidence
--     Combine set_size(p0 & p1) in Theta(lg_k=11, delta=0.05, seed=3075402164034475)    spends within 0.0443 of the value, 95.0% per question, BJKST02 thm 2 of each stream, 16,384 bytes a stream and pane, shard 3
--       Items p0 = sym                                                                  spends 0
--         Window range 1 min                                                            spends 0
--           Scan trades (ts, sym)                                                       files
--       Items p1 = sym                                                                  spends 0
--         Window range 1 min                                                            spends 0
--           Scan quotes (ts, sym)                                                       files
--   rows of trades: read by one shard: the sketches of all streams are combined in one place
--   rows of quotes: read by one shard: the sketches of all streams are combined in one place
--   error by cause: theta (5%), late rows
--   sized for within 0.05 in rank at 95% confidence: a share of the rows of all streams

-- the size of a union, exactly
SELECT COUNT(*) AS n FROM (SELECT sym FROM trades [RANGE 1 MINUTE] UNION SELECT sym FROM quotes [RANGE 1 MINUTE]) x EVERY 10 SECONDS;
-- plan:
--   Select COUNT(*) as n
--     Group COUNT(*)
--       Union
--         Window range 1 min
--           Scan trades (sym)
--         Window range 1 min
--           Scan quotes (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s              owed exact, rows that come and go, from history
--     Select COUNT(*) as n         spends 0, keeps nothing, not shared
--       Group COUNT(*)             spends 0, keeps one row, not shared
--         Union                    spends 0, keeps rows of its inputs, not shared
--           Window range 1 min     spends 0, keeps rows of trades for range 1 min, shared by 2 queries
--             Scan trades (sym)    files, tick 1 s, late rows dropped
--           Window range 1 min     spends 0, keeps rows of quotes for range 1 min, not shared
--             Scan quotes (sym)    files, tick 1 s, late rows waited for 5 s
--   memory window: rows of trades for range 1 min
--   store of quotes: range 1 min
--   store of trades: range 1 min
--   placed on one of 4 shards with the views over the same windows
--   rows of quotes: read by one shard: rows of two results are compared
--   rows of trades: read by one shard: rows of two results are compared
--   kept back 0 of the error: rows are exact

-- the size of a join
SELECT COUNT(*) AS n FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q WHERE t.sym = q.sym WITHIN 10% RANK EVERY 10 SECONDS;
-- plan:
--   q: join_size(p0 = p1) from p0 = trades [range 1 min] by sym; p1 = quotes [range 1 min] by sym, every 10 s, within 0.1 in rank at 95% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                                                                                                  owed within 0.1 in rank at 95% confidence
--     Combine join_size(p0 = p1) in FastAms(width=2694, depth=3, delta=0.050000000000000044, seed=8862225891401549)    spends within 0.0741 of the value, 95.0% per question, AMS99 thm 2.2 of each stream, 64,656 bytes a stream and pane, shard 3
--       Items p0 = sym                                                                                                 spends 0
--         Window range 1 min                                                                                           spends 0
--           Scan trades (ts, sym)                                                                                      files
--       Items p1 = sym                                                                                                 spends 0
--         Window range 1 min                                                                                           spends 0
--           Scan quotes (ts, sym)                                                                                      files
--   rows of trades: read by one shard: the sketches of all streams are combined in one place
--   rows of quotes: read by one shard: the sketches of all streams are combined in one place
--   error by cause: fast_ams (5%), late rows
--   sized for within 0.1 in rank at 95% confidence: a share of the pairs of rows

-- the size of a join by name
SELECT JOIN_SIZE(t.sym, q.sym) AS n FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q WITHIN 10% RANK EVERY 10 SECONDS;
-- plan:
--   q: join_size(p0 = p1) from p0 = trades [range 1 min] by sym; p1 = quotes [range 1 min] by sym, every 10 s, within 0.1 in rank at 95% confidence
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                                                                                                  owed within 0.1 in rank at 95% confidence
--     Combine join_size(p0 = p1) in FastAms(width=2694, depth=3, delta=0.050000000000000044, seed=8862225891401549)    spends within 0.0741 of the value, 95.0% per question, AMS99 thm 2.2 of each stream, 64,656 bytes a stream and pane, shard 3
--       Items p0 = sym                                                                                                 spends 0
--         Window range 1 min                                                                                           spends 0
--           Scan trades (ts, sym)                                                                                      files
--       Items p1 = sym                                                                                                 spends 0
--         Window range 1 min                                                                                           spends 0
--           Scan quotes (ts, sym)                                                                                      files
--   rows of trades: read by one shard: the sketches of all streams are combined in one place
--   rows of quotes: read by one shard: the sketches of all streams are combined in one place
--   error by cause: fast_ams (5%), late rows
--   sized for within 0.1 in rank at 95% confidence: a share of the pairs of rows

-- the size of a join, exactly
SELECT JOIN_SIZE(t.sym, q.sym) AS n FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q EVERY 10 SECONDS;
-- plan:
--   Select JOIN_SIZE(t.sym, q.sym) as n
--     Group COUNT(*) as JOIN_SIZE(t.sym, q.sym)
--       Join t, q on t.sym = q.sym
--         Window range 1 min
--           Scan trades (sym)
--         Window range 1 min
--           Scan quotes (sym)
-- explain:
--   q version 1, running, since epoch 2
--   Answer every 10 s                                owed exact, rows that come and go, from history
--     Select JOIN_SIZE(t.sym, q.sym) as n            spends 0, keeps nothing, not shared
--       Group COUNT(*) as JOIN_SIZE(t.sym, q.sym)    spends 0, keeps one row, not shared
--         Join t, q on t.sym = q.sym                 spends 0, keeps rows of its inputs, not shared
--           Window range 1 min                       spends 0, keeps rows of trades for range 1 min, shared by 2 queries
--             Scan trades (sym)                      files, tick 1 s, late rows dropped
--           Window range 1 min                       spends 0, keeps rows of quotes for range 1 min, not shared
--             Scan quotes (sym)                      files, tick 1 s, late rows waited for 5 s
--   memory window: rows of trades for range 1 min
--   store of quotes: range 1 min
--   store of trades: range 1 min
--   placed on one of 4 shards with the views over the same windows
--   rows of quotes: read by one shard: no group is a column that rows could be hashed by
--   rows of trades: read by one shard: no group is a column that rows could be hashed by
--   kept back 0 of the error: rows are exact
