SELECT sym FROM trades [NOW] UNION SELECT sym, bid FROM quotes [NOW];
-- BindError: the sides of UNION have different numbers of columns
--   detail: 1 on the left, 2 on the right
--   hint: select as many columns on both sides

SELECT sym FROM trades [NOW] UNION SELECT bid FROM quotes [NOW];
-- BindError: columns 'sym' and 'bid' of UNION have different types
--   detail: string on the left, float on the right
--   hint: cast one of them

SELECT sym FROM trades [NOW] UNION SELECT sym FROM quotes [NOW] ORDER BY bid;
-- BindError: unknown column 'bid'
--   detail: columns are sym
--   hint: name one of these columns, or write 'bid' for a text

SELECT * FROM (SELECT DSTREAM(sym) FROM trades [NOW]) x;
-- BindError: subquery x is a stream of rows that come or go
--   detail: DSTREAM of a relation that takes rows back has no rows of its own
--   hint: leave DSTREAM out of it, or write it around the whole query

SELECT ISTREAM(sym) FROM trades [NOW] UNION SELECT sym FROM quotes [NOW];
-- BindError: a side of UNION is a stream of rows that come or go
--   detail: ISTREAM of a relation that takes rows back has no rows of its own
--   hint: leave ISTREAM out of it, or write it around the whole query

SELECT x.sym FROM (SELECT sym, sym FROM trades) x;
-- BindError: two columns of a subquery are named 'sym'
--   detail: its columns are sym, sym
--   hint: give one another name: sym AS sym_2

WITH a AS (SELECT * FROM b) SELECT * FROM a;
-- BindError: unknown stream or table 'b'
--   detail: there are big, busy, counts, heat, orders, packets, quotes, slow ...
--   hint: check the spelling, or create it first

SELECT * FROM RESAMPLE(trade, price, 1 MINUTE) r;
-- BindError: unknown stream 'trade'
--   detail: there are orders, packets, quotes, slow, trades
--   hint: did you mean trades?

SELECT * FROM RESAMPLE(trades, prise, 1 MINUTE) r;
-- BindError: unknown column 'prise'
--   detail: the stream has sym, ts, price, size, buy
--   hint: check the spelling, or declare the column in the stream's schema

SELECT * FROM RESAMPLE(trades, sym, 1 MINUTE, LINEAR) r;
-- BindError: column 'sym' is not a number
--   detail: its type is string
--   hint: RESAMPLE(..., LAST) takes any column, LINEAR needs numbers

SELECT * FROM RESAMPLE(slow, price, 1 SECOND) r;
-- BindError: a period of 1 s is not a whole number of ticks
--   detail: the tick of stream 'slow' is 1 min
--   hint: use a multiple of 1 min

SELECT * FROM RESAMPLE(packets, length, 1 SECOND) r;
-- BindError: stream 'packets' cannot be resampled
--   detail: it revises late rows, which would change points that were given
--   hint: declare the stream with LATE ALLOW or LATE DROP
