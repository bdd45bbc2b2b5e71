SELECT AVG(price) FROM slow [RANGE 10 MINUTES] EVERY 90 SECONDS;
-- BindError: cadence every 1 min 30 s is not a whole number of ticks
--   detail: the tick of stream 'slow' is 1 min
--   hint: use a multiple of 1 min

SELECT sym FROM slow [RANGE 10 MINUTES] EVERY 90 SECONDS;
-- BindError: cadence every 1 min 30 s is not a whole number of ticks
--   detail: the tick of stream 'slow' is 1 min
--   hint: use a multiple of 1 min

SELECT AVG(price) FROM trades [RANGE 1 MINUTE] EVERY 1500 ms;
-- BindError: cadence every 1 s 500 ms is not a whole number of ticks
--   detail: the tick of stream 'trades' is 1 s
--   hint: use a multiple of 1 s

SELECT AVG(price) FROM trades [RANGE 1 MINUTE] EVERY 0 s;
-- ParseError: EVERY needs a positive duration
--   detail: line 1, column 54
--     ECT AVG(price) FROM trades [RANGE 1 MINUTE] EVERY 0 s
--                                                       ^
--   hint: write EVERY 1 SECOND

SELECT AVG(price) FROM trades [PARTITION BY sym ROWS 1] EVERY 1 s EVERY 2 s;
-- ParseError: EVERY, ON CHANGE or ON CLOSE is written twice
--   detail: line 1, column 67
--     ) FROM trades [PARTITION BY sym ROWS 1] EVERY 1 s EVERY 2 s
--                                                       ^
--   hint: write each term once

SELECT sym FROM trades [NOW] ON CHANGE OF 3;
-- BindError: rows do not change by an amount
--   detail: the query answers on change of 3
--   hint: write ON CHANGE, or EVERY 10 SECONDS

SELECT sym FROM trades [ROWS 5] ON CLOSE;
-- BindError: ON CLOSE needs windows that all move by one slide
--   detail: slides here are none
--   hint: write [RANGE 5 MINUTES SLIDE 1 MINUTE], or EVERY 1 MINUTE

SELECT AVG(price) FROM trades [RANGE 1 MINUTE] ON CHANGE OF -1;
-- ParseError: unexpected '-'
--   detail: line 1, column 61
--     (price) FROM trades [RANGE 1 MINUTE] ON CHANGE OF -1
--                                                       ^
--   hint: expected a number
