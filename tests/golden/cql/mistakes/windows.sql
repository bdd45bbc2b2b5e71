SELECT sym FROM symbols [NOW];
-- BindError: windows are for streams, and 'symbols' is not one
--   detail: [now] is written after rows that come and go by themselves
--   hint: leave it out

SELECT sym FROM counts [ROWS 3];
-- BindError: windows are for streams, and 'counts' is not one
--   detail: [rows 3] is written after rows that come and go by themselves
--   hint: put it after the stream inside

SELECT sym FROM busy [RANGE 1 MINUTE];
-- BindError: windows are for streams, and 'busy' is not one
--   detail: [range 1 min] is written after rows that come and go by themselves
--   hint: put it after the stream inside

SELECT value FROM heat [NOW];
-- BindError: windows are for streams, and 'heat' is not one
--   detail: [now] is written after rows that come and go by themselves
--   hint: put it after the stream inside

SELECT * FROM orders [RANGE 1 MINUTE];
-- UnsupportedWindow: stream 'orders' says what comes and goes by itself
--   detail: its column 'op' does, the query has [range 1 min]
--   hint: leave the window out

SELECT * FROM packets [ROWS 5];
-- UnsupportedWindow: rows 5 cannot be revised
--   detail: stream 'packets' revises late rows; such windows depend on their order
--   hint: use [RANGE ...], or declare the stream with LATE ALLOW

SELECT * FROM packets [SESSION 10 SECONDS];
-- UnsupportedWindow: session 10 s cannot be revised
--   detail: stream 'packets' revises late rows; such windows depend on their order
--   hint: use [RANGE ...], or declare the stream with LATE ALLOW

SELECT AVG(length) FROM packets [ROWS 5];
-- UnsupportedWindow: rows 5 cannot be revised
--   detail: stream 'packets' revises late rows; such windows depend on their order
--   hint: use [RANGE ...], or declare the stream with LATE ALLOW

SELECT * FROM slow [RANGE 1 SECOND];
-- UnsupportedWindow: length of range 1 s is not a whole number of ticks
--   detail: 1 s against a tick of 1 min
--   hint: use a multiple of 1 min, or declare a finer tick

SELECT * FROM trades [RANGE 1500 ms];
-- UnsupportedWindow: length of range 1 s 500 ms is not a whole number of ticks
--   detail: 1 s 500 ms against a tick of 1 s
--   hint: use a multiple of 1 s, or declare a finer tick

SELECT * FROM trades [RANGE 1 MINUTE SLIDE 100 ms];
-- UnsupportedWindow: slide of range 1 min slide 100 ms is not a whole number of ticks
--   detail: 100 ms against a tick of 1 s
--   hint: use a multiple of 1 s, or declare a finer tick

SELECT * FROM trades [PARTITION BY who ROWS 1];
-- BindError: unknown column 'who'
--   detail: the stream has sym, ts, price, size, buy
--   hint: check the spelling, or declare the column in the stream's schema

SELECT * FROM trades [ROWS 0];
-- ParseError: a window of rows needs a positive number
--   detail: line 1, column 28
--     SELECT * FROM trades [ROWS 0]
--                                ^
--   hint: a window is written [RANGE 5 MINUTES] or [ROWS 100]

SELECT * FROM trades [RANGE 0 SECONDS];
-- ParseError: RANGE needs a positive duration
--   detail: line 1, column 29
--     SELECT * FROM trades [RANGE 0 SECONDS]
--                                 ^
--   hint: write RANGE 1 SECOND

SELECT * FROM trades [RANGE 5];
-- ParseError: unexpected ']'
--   detail: line 1, column 30
--     SELECT * FROM trades [RANGE 5]
--                                  ^
--   hint: a window is written [RANGE 5 MINUTES], [ROWS 100] or [NOW]

SELECT * FROM trades [RANGE 5 PARSECS];
-- ParseError: unknown unit 'PARSECS'
--   detail: line 1, column 31
--     SELECT * FROM trades [RANGE 5 PARSECS]
--                                   ^
--   hint: units are us, ms, seconds, minutes, hours, days and weeks

SELECT * FROM trades [LAST 5];
-- ParseError: unexpected '5'
--   detail: line 1, column 28
--     SELECT * FROM trades [LAST 5]
--                                ^
--   hint: a window is written [RANGE 5 MINUTES], [ROWS 100] or [NOW]

SELECT sym FROM trades [DECAY 5 MINUTES];
-- UnsupportedWindow: rows do not fade, only sums of them do
--   detail: [decay 5 min] in a query that answers rows
--   hint: ask for COUNT, SUM or AVG alone with EVERY, or use [RANGE ...]

SELECT MAX(price) FROM trades [DECAY 5 MINUTES] EVERY 1 MINUTE;
-- UnsupportedWindow: max(price) is not asked of rows that fade
--   detail: query 'qee45121b' has the window decay 5 min
--   hint: use count, sum, avg, var, stddev, or a window of time

SELECT AVG(price) FROM trades [DECAY 5 MINUTES];
-- UnsupportedWindow: decay 5 min moves at every instant
--   detail: query 'qca3f2dc3' answers on change
--   hint: write EVERY 10 SECONDS; in Python answer=every('10 s')

SELECT AVG(price) FROM trades [DECAY 5 MINUTES] ON CLOSE;
-- UnsupportedWindow: decay 5 min moves at every instant
--   detail: query 'q90921f78' answers on close
--   hint: write EVERY 10 SECONDS; in Python answer=every('10 s')

SELECT AVG(price) + 1 FROM trades [DECAY 5 MINUTES] EVERY 1 MINUTE;
-- UnsupportedWindow: rows do not fade, only sums of them do
--   detail: [decay 5 min] in a query that answers rows
--   hint: ask for COUNT, SUM or AVG alone with EVERY, or use [RANGE ...]
