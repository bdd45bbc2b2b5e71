SELECT AVG(price) FROM trades [PARTITION BY sym ROWS 1] BY TIMER;
-- BindError: query 'qc943aaa6' is not deferred, so it has no regime
--   detail: it asks avg(price), answers on change and is owed exact
--   hint: write WITHIN 0.5 CONFIDENCE 0.9, or leave the regime out

SELECT AVG(price) FROM trades [PARTITION BY sym ROWS 1] WITHIN 0.5 CONFIDENCE 0.9 BY CLOCK;
-- ParseError: unexpected 'CLOCK'
--   detail: line 1, column 86
--     ITION BY sym ROWS 1] WITHIN 0.5 CONFIDENCE 0.9 BY CLOCK
--                                                       ^
--   hint: write BY TIMER or BY WATCH, or GROUP BY and ORDER BY before the terms

SELECT AVG(price) FROM trades [PARTITION BY sym ROWS 1] WITHIN 0.5 BY TIMER BY WATCH;
-- ParseError: BY TIMER or BY WATCH is written twice
--   detail: line 1, column 68
--      FROM trades [PARTITION BY sym ROWS 1] WITHIN 0.5 BY TIMER BY WATCH
--                                                       ^
--   hint: write each term once

SELECT AVG(price) FROM trades [RANGE 1 MINUTE] WITHIN 0.5 CONFIDENCE 0.9 BY WATCH;
-- BindError: regime is for queries over latest values
--   detail: query 'q5773636f' asks avg(price) from trades [range 1 min], on change of 0.5, within 0.5 at 90% confidence, by watch
--   hint: leave the window out: latest values are [PARTITION BY key ROWS 1] of a stream

SELECT sym, price FROM trades [NOW] BY TIMER WITH TREND;
-- BindError: rows are never deferred, numbers are
--   detail: BY TIMER WITH TREND in a query that answers rows
--   hint: ask for SUM or AVG of [PARTITION BY key ROWS 1], WITHIN 0.5 CONFIDENCE 0.9

SELECT MAX(price) FROM trades [PARTITION BY sym ROWS 1] WITHIN 0.5 CONFIDENCE 0.9 WITH TREND;
-- BindError: query 'qd71fccf8' has no trend to carry on
--   detail: it asks max(price) of all series of trades, on change, within 0.5 for 90% of the time, with trend
--   hint: a trend is of a sum or an avg of latest values, WITHIN 0.5 CONFIDENCE 0.9

SELECT AVG(price) FROM trades [PARTITION BY sym ROWS 1] WITH TREND;
-- BindError: query 'qd0d53a2d' has no trend to carry on
--   detail: it asks avg(price) of all series of trades, on change, exact, with trend
--   hint: a trend is of a sum or an avg of latest values, WITHIN 0.5 CONFIDENCE 0.9

SELECT AVG(price) FROM trades [PARTITION BY sym ROWS 1] THROUGHOUT;
-- ContractUnsatisfiable: THROUGHOUT says for how long, and nothing says how far off
--   detail: THROUGHOUT without WITHIN
--   hint: write WITHIN 5 PERCENT CONFIDENCE 95% THROUGHOUT, or leave it out

SELECT s.since, AVG(t.price) FROM trades [PARTITION BY sym ROWS 1] t, symbols s WHERE t.sym = s.sym GROUP BY s.since WITHIN 1 PERCENT CONFIDENCE 0.9;
-- BindError: column 'since' of table 'symbols' cannot tell cells apart
--   detail: its type is time
--   hint: group by a column of string, int, bool

SELECT s.sector, AVG(t.price) FROM trades [PARTITION BY sym ROWS 1] t, symbols s WHERE t.sym = s.sym AND t.price > 1 GROUP BY s.sector WITHIN 1 PERCENT CONFIDENCE 0.9;
-- ContractUnsatisfiable: rows are exact, a tolerance is for numbers
--   detail: the query asks for within 0.01 of the value at 90% confidence
--   hint: ask for AVG(t.price) of one stream by itself, or write EXACT

SELECT MAX(level) FROM (SELECT s.sector, AVG(t.price) AS level FROM trades [PARTITION BY sym ROWS 1] t, symbols s WHERE t.sym = s.sym GROUP BY s.sector) [RANGE 30 MINUTES] WITHIN 2 CONFIDENCE 0.9;
-- BindError: an extreme over a window is taken of each group by itself
--   detail: inside are sector, outside no group
--   hint: write GROUP BY sector

SELECT MAX(level) FROM (SELECT AVG(price) AS level FROM trades [PARTITION BY sym ROWS 1]) [RANGE 30 MINUTES SLIDE 1 MINUTE] WITHIN 2 CONFIDENCE 0.9;
-- UnsupportedWindow: the max of a value is of the time up to now, which moves with each tick
--   detail: got [range 30 min slide 1 min]
--   hint: leave the slide out

SELECT MAX(level) FROM (SELECT AVG(price) AS level FROM trades [PARTITION BY sym ROWS 1]) [ROWS 10] WITHIN 2 CONFIDENCE 0.9;
-- UnsupportedWindow: the max of a value needs a window of time
--   detail: got [rows 10]
--   hint: write [RANGE 30 MINUTES] or [SINCE '2026-01-01']; in Python Range('30 minutes')

SELECT MAX(level) FROM (SELECT MIN(price) AS level FROM trades [PARTITION BY sym ROWS 1]) [RANGE 30 MINUTES] WITHIN 2 CONFIDENCE 0.9;
-- BindError: the max over a window is of a sum or an avg of latest values
--   detail: query 'q45ced16f' asks min(price)
--   hint: ask min(price) over the window itself: window=range 30 min

SELECT MAX(level) FROM (SELECT AVG(price) AS level FROM trades [PARTITION BY sym ROWS 1]) [RANGE 30 MINUTES] EVERY 1 MINUTE WITHIN 2 CONFIDENCE 0.9;
-- BindError: query 'q4fa57179' has groups, members or an extreme but no window
--   detail: it asks avg(price), answers every 1 min and is owed within 2 for 90% of the time
--   hint: ask sum, avg, count, min, max of one column, on change and not in rank; or add a window

SELECT MAX(level) FROM (SELECT AVG(price) AS level FROM trades [PARTITION BY sym ROWS 1]) [RANGE 30 MINUTES] BY TIMER;
-- BindError: a timer lets values pass unseen, which an answer that is always right does not
--   detail: query 'q6c93eadd' is owed exact
--   hint: write WITHIN 0.5 CONFIDENCE 0.9, or BY WATCH

SELECT MAX(level) FROM (SELECT AVG(price) AS level FROM trades [RANGE 1 MINUTE]) [RANGE 30 MINUTES] WITHIN 2 CONFIDENCE 0.9;
-- BindError: windows are for streams, and the subquery is not one
--   detail: [range 30 min] is written after rows that come and go by themselves
--   hint: put it after the stream inside

SELECT AVG(price) FROM trades [PARTITION BY sym ROWS 1] WITHIN 1% RANK CONFIDENCE 0.9;
-- ContractUnsatisfiable: avg(price) has no rank to be wrong in
--   detail: query 'q3847dd56' asks for within 0.01 in rank at 90% confidence
--   hint: the nearest that can be held is within 0.01 of the value at 90% confidence: write WITHIN 1% CONFIDENCE 90%; or EXACT, Contract.exact(), which keeps every value

SELECT s.sector, SUM(t.price) FROM trades [PARTITION BY sym ROWS 1] t, symbols s WHERE t.sym = s.sym GROUP BY s.sector GUARANTEED WITHIN 1 BY TIMER;
-- BindError: a timer lets values pass unseen, which an answer that is always right does not
--   detail: query 'q73bebfc9' is owed within 1
--   hint: write WITHIN 0.5 CONFIDENCE 0.9, or BY WATCH

CREATE STREAM held (sym STRING, ts TIME, price FLOAT) FROM FILES 'held' KEY sym TIME ts CAPACITY 0;
-- ParseError: a capacity of no reads evaluates nothing
--   detail: line 1, column 98
--     FLOAT) FROM FILES 'held' KEY sym TIME ts CAPACITY 0
--                                                       ^
--   hint: write CAPACITY 100000
